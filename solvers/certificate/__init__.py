"""The certificate: the quality of a solution, computed from the data alone.

optimality     ``certify``: objectives, gap and violations, each with a bound on its rounding error
acceptance     the record of what was found, and the rule by which it is accepted
_lower_bounds  dual points of linear problems, and their objectives
_pairs         pairs of different ranks: loss, violated pairs, multipliers
"""

from svmrepro.solvers.certificate.acceptance import Certificate
from svmrepro.solvers.certificate.optimality import (
    certify,
    gram_matrix,
    peer_rounding,
    quick_sample,
    worth_verifying,
)

__all__ = ["Certificate", "certify", "gram_matrix", "peer_rounding", "quick_sample", "worth_verifying"]
