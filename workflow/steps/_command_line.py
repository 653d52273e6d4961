"""The command line of a step, derived from the signature of its function."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from svmrepro.workflow.configuration import read_config
from svmrepro.workflow.errors import run_safely

#: Environment variable with a folder where a step writes its answer, in a file of its own name. When a
#: command of ``svmrepro`` ends, it prints the answers of the requested steps.
ANSWERS = "SVMREPRO_ANSWERS"


def run_step(step: Callable[..., int | None], answers: bool = False) -> NoReturn:
    """Run a step with the arguments of this process, and exit with its exit code.

    The step is a function of the configuration and further parameters: ``paper: str`` becomes an option
    ``--paper PAPER``, a ``bool`` a switch, and a ``Sequence`` an option with several values. With ``answers``
    it prints what the user asked for, and not only messages.
    """
    module = inspect.getmodule(step)
    assert module is not None
    arguments = vars(_parser(step, module.__doc__ or "").parse_args())
    config = arguments.pop("config")
    if answers and os.environ.get(ANSWERS):
        answer = Path(os.environ[ANSWERS], Path(module.__file__ or "").stem)
        sys.stdout = answer.open("a", encoding="utf-8")
    sys.exit(run_safely(lambda: step(read_config(config), **arguments) or 0))


def _parser(step: Callable[..., int | None], description: str) -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=style)
    parser.add_argument("--config", type=Path, required=True, help="resolved configuration (JSON)")
    hints = get_type_hints(step)
    _, *parameters = inspect.signature(step).parameters.values()
    for parameter in parameters:
        hint = hints[parameter.name]
        needed = parameter.default is inspect.Parameter.empty
        options: dict[str, Any] = {"required": True} if needed else {"default": parameter.default}
        if hint is bool:
            options = {"action": "store_true"}
        elif getattr(hint, "__origin__", None) is Sequence:
            options |= {"nargs": "+"}
        else:
            kinds = (hint, *getattr(hint, "__args__", ()))  # of ``kind``, or of ``kind | None``
            options |= {"type": next(each for each in (Path, float, str) if each in kinds)}
        parser.add_argument(f"--{parameter.name.replace('_', '-')}", **options)
    return parser
