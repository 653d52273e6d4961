"""Compilation of this package with numba.

compiled          the decorator, its cache, and functions as arguments
inner_functions   how functions that compiled code calls are compiled
records           the scalars of a state, by name
processor         what the processor can do
llvm_code         LLVM code that intrinsics have in common
intrinsics        machine instructions that numba does not provide
table_lookup      look-up in a table held in registers
fixed_point       passes over 32-bit fixed-point numbers (exact in any order), for rows of distances
fixed_point_rows  the same for rows in single precision
bit_planes        bits of many numbers, turned into bytes
vector_loops      loops in explicit vector instructions
gaussian_tiles    Gaussian kernel values in single precision
atomics           words of memory that threads share
random_numbers    pseudo-random numbers for compiled code
"""
