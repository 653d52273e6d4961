"""Other methods for linear problems.

lsvm          Lagrangian SVM (Mangasarian and Musicant 2001)
l2svm_mfn     modified finite Newton (Keerthi and DeCoste 2005)
dual_descent  dual coordinate descent (Hsieh et al. 2008), for the certificate of linear peers
"""
