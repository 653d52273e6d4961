"""The compiled loops of SMO over pairs for kernel rows stored as bytes.

For binary data with a linear kernel, the entries of a row are integers up to 255. A byte stores them exactly
and takes an eighth of the memory traffic. The code is that of the modules imported below, compiled for such
rows; this module is loaded only for problems that have them.
"""

from __future__ import annotations

from svmrepro.solvers.caches import active_set_rows
from svmrepro.solvers.caches.lru import BYTE_CACHE
from svmrepro.solvers.compilation.compiled import compiled, source
from svmrepro.solvers.decomposition import _second_order_iteration as second_order_iteration

iterate = compiled(second_order_iteration.signature(BYTE_CACHE))(source(second_order_iteration.iterate))
rearrange_rows = compiled(active_set_rows.signature(BYTE_CACHE))(source(active_set_rows.rearrange_rows))
