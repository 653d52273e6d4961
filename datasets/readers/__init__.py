"""Readers of file formats.

by_name            the readers by their names in the registry
libsvm             reading and writing LIBSVM files
delimited          comma-separated files
idx                IDX, the format of MNIST
lyrl2004           RCV1-v2 as published
matfile            MATLAB files with splits
adult              UCI's census files
physics            KDD Cup 2004's particle physics
index_value_lines  lines of ``index:value`` pairs, which several formats share
parsing            numbers, blocks of lines and labels
"""
