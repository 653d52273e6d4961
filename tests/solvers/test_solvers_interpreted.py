"""Interpreted solvers give the results of compiled ones: debuggers and coverage see the same code."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from support import ran

SCRIPT = Path(__file__).with_name("interpreted_runs.py")


def runs(jit: bool) -> dict[str, dict[str, object]]:
    """Return the results of every solver and storage, with or without the JIT."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if jit else "1"}
    done = ran(sys.executable, SCRIPT, env=environment, timeout=3600)  # it may compile every solver
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, object]] = json.loads(done.stdout)
    return found


def test_the_interpreter_takes_the_same_steps() -> None:
    interpreted, compiled = runs(jit=False), runs(jit=True)
    assert interpreted.keys() == compiled.keys() and interpreted
    for name, run in interpreted.items():
        other = compiled[name]
        assert run["status"] == other["status"] == "optimal", name
        assert run["passed"] and other["passed"], name
        # With another summation order, both results are within their promise of the optimum, but not closer
        # to each other.
        assert abs(run["primal"] - other["primal"]) <= run["allowed"], name
        # Nobody promises a number of steps; rounding breaks the ties of integer data.
        assert run["iterations"] == pytest.approx(other["iterations"], rel=0.5, abs=3), name
