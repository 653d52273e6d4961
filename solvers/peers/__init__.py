"""Solvers from other packages, behind the same interface.

A peer is an entry of `svmrepro.solvers.registry`, an adapter here, and a contender in
``config/experiments/peers.yaml``, which times it beside the others.

estimators      LIBSVM, LIBLINEAR, oneDAL and ThunderSVM, through estimators like scikit-learn's
libsvm_package  LIBSVM, by its own Python package
"""
