"""The loops of SMO over pairs for kernel rows that are kept in bytes.

Of binary data under a linear kernel a row holds whole numbers of at most 255. A byte each is exact, and an
eighth of what memory has to bring. The code is that of the modules named below, compiled for such rows; it
is loaded where a problem has them.
"""

from __future__ import annotations

from svmrepro.solvers.caches import active_set_rows
from svmrepro.solvers.caches.lru import BYTE_CACHE
from svmrepro.solvers.compilation.compiled import compiled, source
from svmrepro.solvers.decomposition import second_order_iteration

iterate = compiled(second_order_iteration.signature(BYTE_CACHE))(source(second_order_iteration.iterate))
rearrange_rows = compiled(active_set_rows.signature(BYTE_CACHE))(source(active_set_rows.rearrange_rows))
