"""The certificate: the quality of a solution, computed from the data alone.

certificate    what was found, and when it passes
optimality     objectives, gap and violations, each with a bound on its rounding error
_lower_bounds  dual points of linear problems, and their objectives
"""

from svmrepro.solvers.certificate.certificate import Certificate
from svmrepro.solvers.certificate.optimality import certify, gram_matrix, worth_verifying

__all__ = ["Certificate", "certify", "gram_matrix", "worth_verifying"]
