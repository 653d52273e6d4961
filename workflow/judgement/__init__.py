"""Claims and verdicts, and the comparison with a reference run.

claims                  the claims of a paper and their verdicts
findings                the value of a quantity, or why there is none
quantities              what a claim measures
curve_quantities        quantities over n, C or eps
permutation_quantities  quantities over permutations
run_summary             what of a run must come out the same elsewhere
check_record            reading a check.json
"""
