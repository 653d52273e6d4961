"""Compilation of this package with numba.

compiled          the decorator, the folder of its cache (another one for another source), and functions as
                  arguments
inner_functions   how functions that compiled code calls are compiled
shared_cache      that cache, when several processes compile at once
loading           seconds of loading code within a run
records           the scalars of a state, by name
processor         what the processor can do
cgroups           the limit on processors, of a container, say
llvm_code         LLVM code that intrinsics have in common
intrinsics        machine instructions that numba does not provide
atomics           words of memory that threads share
random_numbers    pseudo-random numbers for compiled code
"""
