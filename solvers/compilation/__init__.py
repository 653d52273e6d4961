"""How this package compiles.

compiled        the one decorator, its cache, functions handed on by address
intrinsics      machine instructions that numba has no name for
random_numbers  pseudo-random numbers for compiled code
"""
