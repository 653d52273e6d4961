"""Pseudo-random numbers for compiled code, with the state passed in."""

from __future__ import annotations

import numpy as np
from svmrepro.solvers.compilation.compiled import compiled


@compiled(overflows=True)
def draw(random, bound):
    """Return a pseudo-random integer in [0, bound) by splitmix64, and advance the state."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(z % np.uint64(bound))


@compiled(overflows=True)
def quick_draw(random, bound):
    """Return a pseudo-random integer in [0, bound), for bounds below 2^32, without a division."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(((z >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))
