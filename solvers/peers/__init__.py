"""Other people's solvers behind the same interface.

estimators  LIBSVM, LIBLINEAR, oneDAL and ThunderSVM, by their scikit-learn estimators
libsvm      LIBSVM, by its own Python package
"""
