"""Dense quadratic programs that arise within a solver.

working_set_qp  of a small working set, by an active-set method
projected_cg    of a chunk, by projected conjugate gradient
plane_qp        of cutting planes
"""
