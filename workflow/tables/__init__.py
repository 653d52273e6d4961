"""Tables: one module a kind.

kinds            kind -> module
timing           timing tables
sparse           sparse and dense code
scaling          scaling exponents
support_vectors  support vectors beside the paper
contenders       contenders side by side
claims           verdicts
problems         data sets over permutations
paired           two contenders over permutations
variants         variants against a baseline
traffic          bytes moved
encodings        encodings side by side
adult_encoding   our encoding of Adult beside the published one
benchmarks       solvers over experiments
precision        solvers at equal precision
parameters       parameters of the experiments
"""
