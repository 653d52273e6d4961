"""Tables about problems measured over permutations of their examples, as in Glasmachers 2008.

problems   the data sets, and how many support vectors their solutions have
paired     two contenders, with paired tests
variants   variants against a baseline
encodings  encodings of the same data side by side
cells      cells that these share
"""
