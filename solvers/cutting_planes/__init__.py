"""Cutting planes for linear problems (Joachims 2006; Franc and Sonnenburg 2008).

svmperf          classification, Algorithm 1
svmperf_ordinal  ranks and ROC area, Algorithm 2
ocas             cutting planes with a line search
run              what the three have in common
planes           the planes found, and the problem over them that is solved at each iteration
pair_counts      the most violated constraint of ranks, without the pairs
"""
