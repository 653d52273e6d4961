"""Other methods for linear problems.

dual_descent  dual coordinate descent (Hsieh et al. 2008), ended by the duality gap
dual_search   the same, for multipliers that bound the objective of given weights
lsvm          Lagrangian SVM (Mangasarian and Musicant 2001)
l2svm_mfn     modified finite Newton (Keerthi and DeCoste 2005)
"""
