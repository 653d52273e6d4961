"""SVM-light: decomposition with working sets of q examples.

classification  two classes (Joachims 1999)
_iteration      its iteration: choice of the q examples, step, which examples leave the active set
ordinal         ordinal regression over all pairs (Joachims 2006, section 3.2)
"""
