"""Readers of file formats. Those with an underscore are used through `by_name` alone.

by_name             the readers by their names in the registry, and how to add one
libsvm              reading and writing LIBSVM files
other_formats       recognises files that are not LIBSVM files
own_table           tables with a column of labels: a user's own files
npz                 arrays as NumPy and SciPy save them: a user's own files
_delimited          comma-separated files
_idx                IDX, the format of MNIST
_lyrl2004           RCV1-v2 as published
_matfile            MATLAB files with splits
adult               UCI's census files
_physics            KDD Cup 2004's particle physics
_index_value_lines  lines of ``index:value`` pairs, which several formats share
_parsing            numbers, blocks of lines and labels
"""
