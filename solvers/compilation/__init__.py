"""Compilation of this package with numba.

compiled          the decorator, its cache, and functions as arguments
inner_functions   how functions that compiled code calls are compiled
shared_cache      the cache of compiled code, for several processes
loading           seconds of loading code within a run
records           the scalars of a state, by name
processor         what the processor can do
llvm_code         LLVM code that intrinsics have in common
intrinsics        machine instructions that numba does not provide
atomics           words of memory that threads share
random_numbers    pseudo-random numbers for compiled code
"""
