"""Caches of kernel rows, and the layouts of the examples from which rows are computed.

lru              replacement by last use, within a limit of bytes (each solver's ``cache_mb``)
reused_memory    memory for rows, kept for the next run
active_set_rows  rows in the order of the active set (second order, decomposition)
smo_rows         rows over the non-bound examples (Platt's SMO)
feature_columns  the examples laid out feature by feature (a *panel*), and kernel rows computed from them
bit_columns      the columns of binary data, as bits; counts common bits
example_tiles    examples of real values in tiles, for several rows at once
single_rows      rows in single precision, with a bound on their error
example_levels   examples of few values as bytes, in tiles
"""
