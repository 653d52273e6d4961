"""Tables: one module a kind, listed with their protocol in `svmrepro.workflow.configuration.artefact_kinds`.

model            tables, columns and cells
writers          the forms in which they are written; HTML by ``workflow/templates``
timing           timing tables
sparse           sparse and dense code
scaling          scaling exponents
support_vectors  support vectors beside the paper
contenders       contenders side by side
claims           verdicts
traffic          bytes moved
adult_encoding   our encoding of Adult beside the published one
benchmarks       solvers over experiments
precision        solvers at equal precision
parameters       parameters of the experiments
permutations/    tables about problems measured over permutations
"""
