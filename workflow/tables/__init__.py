"""Tables: one module per kind; `svmrepro.workflow.configuration.artefact_kinds` lists them.

layout/          tables as such: cells, columns, output
timing           timing tables
sparse           sparse and dense code
scaling          scaling exponents
support_vectors  support vectors beside the paper
contenders       contenders side by side
claims           verdicts
deviations       what differs from the paper
traffic          bytes moved
speed_up         elapsed seconds on several threads
grid             problems over a grid of C and gamma
adult_encoding   our encoding of Adult compared with the published one
benchmarks       solvers over all experiments
precision        solvers at equal precision
peers            our solvers and others, with their packages; also a table of ``svmrepro bench``
parameters       parameters of the experiments
permutations/    problems measured over permutations
"""
