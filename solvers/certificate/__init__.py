"""The certificate: the quality of a solution, computed from the data alone.

judge          objectives, gap and violations, each with a bound on its rounding error
_lower_bounds  dual points of linear problems, and their objectives
"""

from svmrepro.solvers.certificate.judge import Certificate, certify

__all__ = ["Certificate", "certify"]
