"""Tables of problems measured over permutations of their examples, as in Glasmachers 2008.

problems   the data sets, and the support vectors of their solutions
paired     two contenders, with Wilcoxon's test and its marks
variants   variants against a baseline
encodings  encodings of the same data
readings   readings of an algorithm, scored by a paper's iterations
_cells     common cells
_notes     common notes
"""
