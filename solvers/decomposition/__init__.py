"""Decomposition: SMO over maximal violating pairs, with planning ahead or Newton steps, and SVM-light.

second_order              SMO with second-order working sets, planning ahead (smo2, pasmo), bias (`finish`)
_second_order_iteration   an iteration of `second_order`: working set, step, update
_planned_step             planning ahead: the planned step (Algorithm 4), earlier sets as candidates (3, 5)
_pair_state               the state of `second_order`
_pair_selection           second-order working set selection (`best_partner`), the gradient's update
_fixed_gradient           the same in 32-bit fixed point, for rows of distances or in single precision
_shrinking                which examples leave the active set, and its order
_gradient_rows            the gradient from many kernel rows at once
_gradient_reconstruction  the gradient of examples that return, and refined where rows are in single precision
_rows_ahead               kernel rows computed together with one that is requested
_statistics               bytes moved and step lengths of a run
planning_readings         variant readings of planning ahead, where its paper leaves options open
smo_newton                `second_order` with Newton steps on the free multipliers in between, and when
                          (the steps: `quadratic_programs.free_set_newton`)
_coordinate_start         multipliers from which it starts on wide and sparse linear problems
conjugate                 steps along conjugate directions (Torres-Barran, Alaiz and Dorronsoro 2021)
threads/                  passes over the active set, on one thread or (smo-newton) divided among several
svmlight/                 working sets of q examples (Joachims 1999)
"""
