"""Readers of file formats.

by_name            the readers that the registry can name
libsvm             LIBSVM files, read and written
delimited          comma-separated files
idx                IDX, the format of MNIST
lyrl2004           RCV1-v2 as published
matfile            MATLAB files with splits
adult              UCI's census files
physics            KDD Cup 2004's particle physics
index_value_lines  lines of ``index:value`` pairs, which several formats share
tokens             numbers and excerpts of text files
"""
