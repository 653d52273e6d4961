"""The certificate: what a solution is worth, computed from the data alone.

judge              objectives, gap and violations, each with a bound on its rounding error
lower_bounds       dual points of linear problems, and their objectives
reference_kernels  kernel values and sums in arithmetic of its own
"""

from svmrepro.solvers.certificate.judge import Certificate, certify

__all__ = ["Certificate", "certify"]
