"""All tests share the project's cache of compiled code, which any run has filled."""

import gc
import os

# Before NumPy is loaded: two threads of OpenBLAS that wait for each other, and for a processor that other
# tests use, take up to ten times the processor time of one. Tests of its threads set their number themselves.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from svmrepro.workflow import fingerprints

os.environ["NUMBA_CACHE_DIR"] = str(fingerprints.compiled_dir())

# Looking for garbage among all that is imported takes some per cent of the time of the tests.
gc.set_threshold(100_000, 50, 100)
