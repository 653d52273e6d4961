"""Loops over many numbers in the processor's vector registers (AVX-512, AVX2), written as LLVM code.

vector_loops      dot products and exponentials
gaussian_tiles    rows of the Gaussian kernel of dense data, in single precision
bit_planes        bits of many numbers, turned into bytes
table_lookup      look-up in a table held in registers
fixed_point       passes over 32-bit fixed-point numbers (exact in any order), for rows of distances
fixed_point_rows  the same for rows in single precision
"""
