"""Compiled functions that compiled functions call."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config, njit
from numba.core.compiler import Flags
from numba.extending import overload
from svmrepro.solvers.compilation import inner_functions
from svmrepro.solvers.compilation.inner_functions import compile_inside, overloaded, quick_typing

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")


def compiled(function):
    """Compile without a cache, so that each test compiles anew."""
    return compile_inside(njit(function), {})


def build():
    """Return a function and one that it calls."""

    @compiled
    def root(x, digits=2):
        if x < 0.0:
            raise ValueError("negative")
        return round(np.sqrt(x), digits)

    @compiled
    def roots(x):
        total = 0.0
        for each in x:
            total += root(each) + root(each, digits=1)
        return total

    return roots, root


def test_a_function_called_from_compiled_code_has_machine_code_only_once_python_calls_it():
    roots, root = build()
    assert roots(np.array([4.0, 2.0])) == pytest.approx(4.0 + 1.41 + 1.4)
    with pytest.raises(ValueError, match="negative"):
        roots(np.array([4.0, -1.0]))
    assert not root.overloads
    assert root(2.0) == 1.41
    assert len(root.overloads) == 1


def test_it_may_call_itself():
    @compiled
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    @compiled
    def caller(n):
        return fibonacci(n) + 1

    assert caller(10) == 56
    assert fibonacci(10) == 55


def test_versions_by_type():
    def name(x):
        """Have a version for each type."""

    @overloaded(name)
    def _name(x):
        return (lambda x: 1) if str(x) == "int64" else (lambda x: 2)

    @compiled
    def names():
        return name(1), name(1.0)

    assert names() == (1, 2)


def test_another_version_of_numba(monkeypatch):
    monkeypatch.setattr(inner_functions, "AVAILABLE", False)
    roots, root = build()
    assert roots(np.array([4.0])) == 4.0
    assert root.overloads


def test_options_are_equal_when_numba_says_so():
    plain, set_to_the_default, other = Flags(), Flags(), Flags()
    set_to_the_default.nrt = plain.nrt
    other.nrt = not plain.nrt
    every = [plain, set_to_the_default, other, Flags(other), None]

    def compared():
        return [[one == another for another in every] for one in every], [hash(flags) for flags in every]

    expected, methods = compared(), (Flags.__eq__, Flags.__hash__)
    with quick_typing():
        assert compared() == expected
        assert (Flags.__eq__, Flags.__hash__) != methods
    assert (Flags.__eq__, Flags.__hash__) == methods


def test_calls_of_the_same_type_keep_the_options_of_their_callers():
    def quotient(a, b):
        raise AssertionError("only compiled")

    @overload(quotient)
    def _quotient(a, b):
        return lambda a, b: a / b

    def build(error_model):
        return njit(error_model=error_model)(lambda a, b: quotient(a, b))

    with quick_typing():
        for _ in range(2):
            assert build("numpy")(1.0, 0.0) == np.inf
            with pytest.raises(ZeroDivisionError):
                build("python")(1.0, 0.0)
            assert build("python")(1, 4) == 0.25
