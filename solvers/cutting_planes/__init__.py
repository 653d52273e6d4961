"""Cutting planes for linear problems (Joachims 2006; Franc and Sonnenburg 2008).

svmperf          classification, Algorithm 1
svmperf_ordinal  ranks and ROC area, Algorithm 2
ocas             cutting planes with a line search
_run             the base of all three
_planes          the planes, added and dropped, and the relaxed problem over them
_pair_counts     the most violated constraint for ranks, without the pairs
"""
