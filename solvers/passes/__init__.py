"""Passes over all examples, for linear solvers: ``X w`` and ``X' c``.

row_passes        one pass, over the blocks of a problem: margins, and the most violated plane of SVM-perf
sliced_passes     a pass in slices, so that time limits hold, and in parts for several threads
row_threads       the threads that do these parts
coordinate_steps  sweeps of dual coordinate descent, one example after the other
counted_products  products with listed examples, counted
dask_blocks       blocks held by the workers of a Dask cluster
"""
