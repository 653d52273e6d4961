"""Values of Snakemake's options that Snakemake rejects late, or without naming the option."""

from __future__ import annotations

import argparse
import re
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path

from svmrepro.datasets.input_checks import did_you_mean
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.graph.targets import is_file_name

#: Options that take names of rules or files.
_RULES_OR_FILES = ("--forcerun", "--until", "--omit-from", "--prioritize")
_RULES = ("--allowed-rules",)

#: Options that give values to rules. A profile may serve several workflows, so its unknown rules are ignored.
_VALUES = ("--set-threads", "--set-resources", "--groups")


def check_options(settings: argparse.Namespace, plan: Plan, words: Iterable[str]) -> None:
    """Raise a StepError for an unknown rule among the command's words, or an unknown form of report."""
    known = plan.targets()
    typed = {part for word in words for part in re.split("[:=]", word)}
    for option in (*_RULES_OR_FILES, *_RULES, *_VALUES):
        names = set(getattr(settings, option[2:].replace("-", "_")) or ())
        for name in sorted(names & typed if option in _VALUES else names):
            if name not in known and (option not in _RULES_OR_FILES or not is_file_name(name)):
                raise StepError(f"{option}: there is no rule {name!r}{did_you_mean(name, known)}")
    if settings.report and Path(settings.report).suffix not in (".html", ".zip"):
        raise StepError(f"--report: {settings.report} must end in .html or .zip")


def refusal(error: Exception) -> str:
    """Describe an error that a value raised in Snakemake's parser: the option, the value, and what is wrong.

    The parser converts values itself without catching errors, such as the failed unpacking of a value without
    its ``=``.
    """
    text = one_line(error)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        action = frame.f_locals.get("self")
        if isinstance(action, argparse.Action) and action.option_strings:
            option, values = action.option_strings[0], frame.f_locals.get("values")
            return f"{option}: {_malformed(action, values) or text}"
    return text


def _malformed(action: argparse.Action, values: str | Sequence[str] | None) -> str:
    """Name a value that lacks a separator of the option's form, such as RULE:RESOURCE=VALUE; "" if none."""
    form = action.metavar if isinstance(action.metavar, str) else ""
    for value in [values] if isinstance(values, str) else values or ():
        if not all(sign in str(value) for sign in ":=" if sign in form):
            return f"{value!r} is not of the form {form}"
    return ""
