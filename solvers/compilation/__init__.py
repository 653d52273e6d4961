"""How this package compiles.

compiled        the one decorator, its cache, functions handed on by address
records         the scalars of a state, by name
intrinsics      machine instructions that numba has no name for
random_numbers  pseudo-random numbers for compiled code
"""
