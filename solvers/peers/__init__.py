"""Other people's solvers behind the same interface.

scikit_learn_interface  LIBSVM, LIBLINEAR, oneDAL and ThunderSVM, by their scikit-learn estimators
libsvm_package          LIBSVM, by its own Python package
"""
