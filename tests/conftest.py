"""All tests share the project's own cache of compiled code, which a run of any scale has filled."""

from __future__ import annotations

import os

from svmrepro.workflow import fingerprints

os.environ["NUMBA_CACHE_DIR"] = str(fingerprints.compiled_dir())
