"""Decomposition: SMO over maximal violating pairs, with planning ahead or Newton steps, and SVM-light.

second_order            SMO with second-order working sets, and planning ahead (Glasmachers 2008)
second_order_iteration  its iteration: working set, step, planned step
pair_state              its state
pair_selection          the scans that select a working set and update the gradient
shrinking               which examples leave the active set, and how they return
gradient_rows           the gradient from many kernel rows at once
byte_rows               the same iteration on kernel rows stored as bytes
distance_rows           the same iteration on distances stored as bytes
smo_newton              the same, with Newton steps on the free multipliers in between
conjugate               steps along conjugate directions (Torres-Barran, Alaiz and Dorronsoro 2021)
svmlight                working sets of q examples (Joachims 1999)
svmlight_iteration      its iteration
svmlight_ordinal        ordinal regression over all pairs (Joachims 2006, section 3.2)
"""
