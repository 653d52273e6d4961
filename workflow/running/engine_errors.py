"""Snakemake's errors in one line of this project's words."""

from __future__ import annotations

import argparse
import difflib
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from svmrepro.workflow.configuration import as_called
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.graph.plan import Plan


def explain(text: str, plan: Plan, settings: argparse.Namespace) -> str:
    """Describe an error of Snakemake in one line; ``settings`` are the options of the command."""
    text = text.removeprefix("WorkflowError:").strip()
    if text.startswith("Traceback"):
        text = text.splitlines()[-1]  # the error itself
    threads = re.search(r'Resource\("_cores", (".*")\) of type', text)
    if threads:
        return f"--set-threads: {threads[1]} is not a number of threads"
    missing = re.search(r"No rule to produce (.+?) \(if you use input functions", text)
    if missing:
        known = nearest_file(missing[1], plan.files())
        hint = f"did you mean {known!r}?" if known else "`./run --list-target-rules` lists the names"
        return as_called(f"there is no target {missing[1]}; {hint}")
    incomplete = re.search(
        r"Missing input files for rule (\S+):.*?affected files:\s*([^\n]+)", text, re.DOTALL
    )
    if incomplete:
        return f"{incomplete[2]} is missing, which {incomplete[1]} needs"
    refused = re.search(r"Failed to create output directory (.+?)\. \w+: \[Errno \d+\] ([^:]+):", text)
    if refused:
        return f"cannot write {refused[1]}: {refused[2].lower()}"
    unrecorded = re.search(
        r"recording metadata .*?\(\[Errno \d+\] ([^:)]+).*?directory ([^\n]+)", text, re.DOTALL
    )
    if unrecorded:
        return f"cannot write into {unrecorded[2]}: {unrecorded[1].lower()}"
    in_rule = re.match(r"\w+ in rule (\S+?)(?: in file [^\n]*?)?:?\n(.*)", text, re.DOTALL)
    if in_rule:
        return _of_rule(in_rule[1], in_rule[2], settings)
    return one_line(text)


def _of_rule(rule: str, text: str, settings: argparse.Namespace) -> str:
    """Describe an error in evaluating a rule, with the option that set the value if there is one."""
    cause = re.split(r"^(?:Wildcards|Traceback):", text.removeprefix("Error:"), flags=re.MULTILINE)[0]
    what = " ".join(re.sub(r"\b\w+(?:Error|Exception):", "", cause).split())
    resource = re.search(r"Resource '(\w+)'", what)
    if resource:
        # Snakemake keeps sizes under names with their unit.
        names = {resource[1], f"{resource[1]}_mb"}
        own = (settings.set_resources or {}).get(rule)
        for option, given in (("--set-resources", own), ("--default-resources", settings.default_resources)):
            if names.intersection(given or ()):
                return f"{option}: {what}"
    return f"rule {rule}: {what}"


def nearest_file(name: str, known: Iterable[str]) -> str | None:
    """Return the known file that a misspelt one may mean, or None.

    A similar name in the same folder comes first, then the same name elsewhere, then a similar one.
    """
    files = [(*path.rpartition("/")[::2], path) for path in known]
    folder, _, last = name.rpartition("/")
    beside = {file: path for place, file, path in files if place == folder}
    if close := difflib.get_close_matches(last, beside, 1):
        return beside[close[0]]
    names: dict[str, list[str]] = {}
    for _, file, path in files:
        names.setdefault(file, []).append(path)
    close = [last] if last in names else difflib.get_close_matches(last, names, 1)
    return difflib.get_close_matches(name, names[close[0]], 1, cutoff=0.0)[0] if close else None


@contextmanager
def translated(explained: Callable[[str], str]) -> Iterator[None]:
    """Turn an error that Snakemake raises into a StepError."""
    from snakemake.exceptions import CliException
    from snakemake_interface_common.exceptions import ApiError, WorkflowError

    try:
        yield
    except (ApiError, CliException, WorkflowError) as error:
        raise StepError(explained(str(error))) from None


@contextmanager
def one_line_errors(explained: Callable[[str], str]) -> Iterator[None]:
    """Print the first error that Snakemake logs in one line, and none of its further ones.

    For commands that run no jobs; `RunProgress` does so for the others.
    """
    # An expression that it could not evaluate leaves such a warning, also when this process ends.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    # Snakemake removes the handlers of its logger, but not the filters.
    logger, errors = logging.getLogger("snakemake.logging"), _Errors(explained)
    logger.addFilter(errors)
    try:
        yield
    finally:
        logger.removeFilter(errors)


class _Errors(logging.Filter):
    """Takes errors out of a log; prints the first."""

    def __init__(self, explained: Callable[[str], str]) -> None:
        super().__init__()
        self._explained = explained
        self._told = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether Snakemake is to print a record itself."""
        if record.levelno < logging.ERROR:
            return not record.getMessage().startswith("Building DAG of jobs")
        if not self._told:
            print(f"error: {self._explained(record.getMessage())}", file=sys.stderr)
        self._told = True
        return False
