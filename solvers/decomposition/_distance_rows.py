"""The compiled loops of SMO over pairs for a Gaussian over binary data, with rows kept as squared distances.

A distance takes a byte, an eighth of a kernel value, and is looked up at each use. The code is that of the
modules imported below, compiled for such rows; this module is loaded only for problems that have them.
"""

from __future__ import annotations

from svmrepro.solvers.caches import active_set_rows
from svmrepro.solvers.caches.lru import DISTANCE_CACHE
from svmrepro.solvers.compilation.compiled import compiled, source
from svmrepro.solvers.decomposition import _gradient_rows as gradient_rows
from svmrepro.solvers.decomposition import _second_order_iteration as second_order_iteration

iterate = compiled(second_order_iteration.signature(DISTANCE_CACHE))(source(second_order_iteration.iterate))
rearrange_rows = compiled(active_set_rows.signature(DISTANCE_CACHE))(source(active_set_rows.rearrange_rows))
subtract_rows = compiled(gradient_rows.signature(DISTANCE_CACHE))(source(gradient_rows.subtract_rows))
