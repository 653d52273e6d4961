"""The loops of SMO over pairs for kernel rows that are kept in bytes.

Of binary data under a linear kernel a row holds whole numbers of at most 255. A byte each is exact, and an
eighth of what memory has to bring. The code is that of the modules named below, compiled for such rows; it
is loaded where a problem has them.
"""

from __future__ import annotations

from svmrepro.solvers import planning, row_cache
from svmrepro.solvers.compiled import compiled, source
from svmrepro.solvers.lru import BYTE_CACHE

iterate = compiled(planning.signature(BYTE_CACHE))(source(planning.iterate))
rearrange_rows = compiled(row_cache.signature(BYTE_CACHE))(source(row_cache.rearrange_rows))
