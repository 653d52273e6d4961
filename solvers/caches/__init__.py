"""Kernel rows that are kept.

lru              which rows stay, by last use, within a limit of memory
active_set_rows  rows in the order of the active set (second order, decomposition)
smo_rows         rows over the non-bound examples (Platt's SMO)
feature_columns  the examples laid out feature by feature, from which rows are computed
"""
