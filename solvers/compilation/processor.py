"""What the processor that code is compiled for can do."""

from __future__ import annotations

from typing import Any


def has(context: Any, feature: str) -> bool:
    """Tell whether code may use a feature, by LLVM's name for it; ``context`` is numba's."""
    return f"+{feature}" in context.codegen().magic_tuple()[2].split(",")


def lanes(context: Any, bits: int) -> int:
    """Return how many numbers of that many bits a vector register holds."""
    return (512 if has(context, "avx512f") else 256 if has(context, "avx") else 128) // bits
