"""Dense quadratic programs that arise within solvers.

working_set_qp   a small working set, by an active-set method
projected_cg     the program over a chunk of chunking's, by projected conjugate gradient
_faces           the faces of that program: which variables may move
chunk_qp         the state of `projected_cg`
free_set_newton  the free multipliers, by Newton steps
plane_qp         the multipliers of cutting planes, by an active-set method
"""
