"""Solvers from other packages, behind the same interface.

A peer is an entry of `svmrepro.solvers.registry`, an adapter here, and a contender in
``config/experiments/peers.yaml``, which times it beside the others; its package is in the extra ``peers``
of ``pyproject.toml``. A package with estimators like scikit-learn's goes into `estimators` (``_MODULES``,
``_estimator``); any other gets a module like `libsvm_package`, named in its entry of the registry.

estimators         LIBSVM, LIBLINEAR, oneDAL and ThunderSVM, through estimators like scikit-learn's
libsvm_package     LIBSVM, by its own Python package
liblinear_package  LIBLINEAR on several threads, by its own Python package
c_packages         what these two have in common
"""
