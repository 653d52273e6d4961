"""Platt's programs: SMO, SMO with a fixed threshold, and the chunking that they were compared with.

smo              sequential minimal optimisation (Platt 1998, sections 2.1 to 2.5), with its error cache
fixed_threshold  one multiplier per step (section 2.6)
chunking         chunking (Vapnik 1982; section 3), with its limit of memory
_state           the state of a run: weight vector ("folded"), outputs, cached errors, passes
_example_lists   sorted non-bound examples, and support vectors
_free_set_cg     conjugate gradient over SMO's non-bound multipliers, where its steps zigzag
"""
