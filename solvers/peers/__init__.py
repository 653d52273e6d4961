"""Solvers from other packages, behind the same interface.

A peer is an entry of `svmrepro.solvers.registry`, an adapter here, and a contender in
``config/experiments/peers.yaml``, which times it beside the others.

scikit_learn_interface  LIBSVM, LIBLINEAR, oneDAL and ThunderSVM, by their scikit-learn estimators
libsvm_package          LIBSVM, by its own Python package
"""
