"""All tests share the project's cache of compiled code, which any run has filled."""

import os

from svmrepro.workflow import fingerprints

os.environ["NUMBA_CACHE_DIR"] = str(fingerprints.compiled_dir())
