"""Claims and verdicts, and the comparison with a reference run.

claims                  the claims of a paper and their verdicts
findings                the value of a quantity, or why there is none
quantities              what a claim measures
curve_quantities        quantities over n, C or eps
permutation_quantities  quantities over permutations
reference_check         this run compared with the reference run: what counts as a fault
check_file              reading a check.json
"""
