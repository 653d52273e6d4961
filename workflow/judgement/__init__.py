"""Claims and verdicts, and the comparison with a reference run.

claims                   the claims of a paper, as its file lists them
verdicts                 their verdicts (also *on a stand-in*), on what was measured and what the paper prints
_findings                the value of a quantity, or the reason why there is none
quantities               what a claim measures; a ratio that a time limit turns into a bound
_curve_quantities        quantities over n, C or eps
_grid_quantities         quantities over grids of C and gamma
_permutation_quantities  quantities over permutations
_printed_quantities      the same quantities of the paper's printed numbers
reference_check          comparison of this run with the reference run, its tolerances, what is a fault
check_report             JUnit XML and a summary in Markdown, for continuous integration
"""
