"""What the Python packages around the C code of LIBSVM and of LIBLINEAR have in common.

They take one weight per class, run to their end in one call, and only print how many steps they took.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_char_p, c_double, c_int
from typing import Any

from svmrepro.solvers.peers.estimators import class_bounds
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import ITERATION_LIMIT, OPTIMAL


def set_bounds(parameter: Any, problem: Problem, name: str) -> None:
    """Set C and the weights of the classes; raise ValueError if the bounds differ within a class."""
    bounds = class_bounds(problem, name)
    if bounds[-1] == bounds[1]:
        parameter.C = bounds[1]
    else:
        parameter.C, parameter.nr_weight = 1.0, len(bounds)
        parameter.weight_label = (c_int * len(bounds))(*bounds)
        parameter.weight = (c_double * len(bounds))(*bounds.values())


def trained(
    train: Callable[[], Any], set_printer: Callable[[Any], None], silent: Any
) -> tuple[Any, int, str]:
    """Call ``train``; return the model, the steps, and the status that the package printed.

    ``set_printer`` sets the package's function that prints, which is ``silent`` afterwards.
    """
    printed: list[str] = []
    say = CFUNCTYPE(None, c_char_p)(lambda text: printed.append(text.decode()))
    set_printer(say)
    try:
        model = train()
    finally:
        set_printer(silent)
    text = "".join(printed)
    steps = sum(int(count) for count in re.findall(r"#iter = (\d+)", text))
    return model, steps, ITERATION_LIMIT if "reaching max number of iterations" in text else OPTIMAL
