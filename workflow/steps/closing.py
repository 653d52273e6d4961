"""Summary at the end of a run, in five lines: what was measured, what holds, what is missing, and where."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from svmrepro.workflow.configuration import Config, Experiment, as_called, config_dir, paths, scale_option
from svmrepro.workflow.configuration.plain_yaml import read_yaml
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.journal.journal_line import OPTIMAL, read_lines
from svmrepro.workflow.measurement.data_sets import WRONG_FILE
from svmrepro.workflow.number_text import plural

#: Maximum number of reasons listed individually; further ones are only counted.
MOST_REASONS = 3
#: Part of a reason -> how to remove it.
_HELP = {"not available": "`./run fetch{flags}` tries again", "not installed": "install its package"}


def closing(config: Config, experiments: Sequence[Experiment] | None = None) -> str:
    """Summarise experiments, by default all of a scale, in a few lines; empty if none has been measured."""
    chosen = config.experiments if experiments is None else experiments
    lines = [
        line
        for experiment in chosen
        for file in paths.job_files(config, experiment.paper, experiment.name)
        for line in _lines(file)
    ]
    if not lines:
        return ""
    statuses = Counter(line["status"] for line in lines)
    flagged = sum(line["flagged"] for line in lines)
    parts = [f"{count:,} {status.replace('_', ' ')}" for status, count in statuses.most_common()]
    flags = f"; {flagged:,} flagged for other load on the machine" if flagged else ""
    tables = f"{paths.results(config)}/{_paper(chosen)}/*.md"
    text = [
        f"Scale {config.scale}: {', '.join(parts)}{flags}.",
        _claims(config, chosen),
        _not_run(config, [line for line in lines if line["status"] != OPTIMAL]),
        f"Tables: {tables}   plots: {_plots(config, chosen)}{_report(config, chosen)}",
        _next(config, lines),
    ]
    return as_called("\n".join(filter(None, text)))


def _claims(config: Config, chosen: Sequence[Experiment]) -> str:
    """Count the verdicts of counted claims, for papers all of whose experiments are among the chosen."""
    from svmrepro.workflow.judgement.claims import tally  # heavy, and the Snakefile imports this module

    count: Counter[str] = Counter()
    judged = [name for name in _whole(config, chosen) if config.papers[name].claims]
    for name in judged:
        for table in config.papers[name].claims:
            with suppress(OSError), paths.table(config, name, table)["csv"].open(encoding="utf-8") as stream:
                rows = [row for row in csv.DictReader(stream) if row.get("counted") == "yes"]
                count.update(row["verdict"] for row in rows)
    claiming = [name for name, paper in config.papers.items() if paper.claims]
    words = _words(config, judged, claiming)
    listed = f"`./run check{words}{scale_option(config.scale)}` lists them"
    if not _usual(config):  # `check` would judge another run
        listed = f"listed in {paths.results(config)}/<paper>/claims.md"
    return f"Claims: {tally(count)}; {listed}." if count else ""


def _whole(config: Config, chosen: Sequence[Experiment]) -> list[str]:
    """Return the papers all of whose experiments are among the chosen."""
    names = {(experiment.paper, experiment.name) for experiment in chosen}
    return [
        name
        for name, paper in config.papers.items()
        if names.issuperset((name, each) for each in paper.experiments)
    ]


def _words(config: Config, papers: Sequence[str], every: Iterable[str]) -> str:
    """Return papers as words of a command, unless they are all ``every`` that it takes by itself."""
    by_default = read_yaml(config_dir() / "config.yaml").get("papers", ())
    alone = config.papers.keys() == {*by_default} and {*papers} == {*every}
    return "" if alone else "".join(f" {name}" for name in papers)


def _usual(config: Config) -> bool:
    """Whether the results are where a command without settings finds them."""
    return config.results_dir == Path("results")


def _plots(config: Config, chosen: Sequence[Experiment]) -> str:
    """Name the figures of the chosen experiments, or, of more than two, the place of all."""
    names = {(experiment.paper, experiment.name) for experiment in chosen}
    made = [
        paths.figure(config, paper.name, artefact.name)["png"]
        for paper in config.papers.values()
        for artefact in paper.artefacts.values()
        if artefact.form == "figure"
        and artefact.measured
        and names.issuperset((paper.name, each) for each in artefact.experiments)
    ]
    few = [str(path) for path in made if path.is_file()] if len(made) <= 2 else []
    return ", ".join(few) or f"{config.figures_dir}/{config.scale}/{_paper(chosen)}/*.png"


def _paper(chosen: Sequence[Experiment]) -> str:
    """Return the folder of the chosen experiments, if they are of one paper."""
    papers = {experiment.paper for experiment in chosen}
    return papers.pop() if len(papers) == 1 else "<paper>"


def _report(config: Config, chosen: Sequence[Experiment]) -> str:
    """Say where the report is, or how to get a new one; "" for results elsewhere or of no whole paper."""
    file = paths.report(config)
    runs = [path for each in chosen for path in paths.job_files(config, each.paper, each.name)]
    newest = max((path.stat().st_mtime for path in runs if path.is_file()), default=0.0)
    if file.is_file() and file.stat().st_mtime >= newest:
        return f"   report: {file}"
    whole = _whole(config, chosen)
    command = f"./run report{_words(config, whole, config.papers)}{scale_option(config.scale)}"
    return f"   report: `{command}` writes one page" if whole and _usual(config) else ""


def _not_run(config: Config, lines: Sequence[Mapping[str, Any]]) -> str:
    """Count what has no result by its reason, the most frequent first, and say how to get it."""
    if not lines:
        return "Everything that was asked for was run."
    reasons, flags = Counter(_cause(line) for line in lines), scale_option(config.scale)
    if config.data_dir != Path("data"):
        flags += f" --config data_dir={quote(str(config.data_dir))}"
    told = []
    for reason, count in reasons.most_common(MOST_REASONS):
        where = dict.fromkeys(line["experiment"] for line in lines if _cause(line) == reason)
        few = ", ".join(where) if len(where) < 4 else f"{len(where)} experiments"
        cure = next((f" ({said.format(flags=flags)})" for part, said in _HELP.items() if part in reason), "")
        told.append(f"{plural(count, 'run')} of {few}: {reason}{cure}")
    more = len(reasons) - MOST_REASONS
    rest = f"; and {plural(more, 'reason')} more, in the tables" if more > 0 else ""
    return f"Without a result: {'; '.join(told)}{rest}."


def _cause(line: Mapping[str, Any]) -> str:
    """Return the reason of a line in short; of a bad solution, with its solver.

    Left out is what differs between sizes, and which hosts gave no file; a wrong file is kept.
    """
    reason = re.sub(r" (at n = [\d,]+.*|in permutation \d+)$", "", str(line["reason"]))
    reason = re.sub(r"(certificate failed at eps \S+): .*", r"\1", reason)
    reason, found, sources = reason.partition("not available: ")
    if found:
        wrong = [each for each in sources.split("; ") if WRONG_FILE.search(each)]
        reason += ": ".join(["not available", *wrong[:1]])
    return f"{line['contender']}, {reason}" if line["status"] == "uncertified" else reason


def _next(config: Config, lines: Sequence[Mapping[str, Any]]) -> str:
    """Say how to get what the scale leaves out."""
    if any(line["status"] == "time_limit" for line in lines):
        return (
            "More: a longer `--config time_limit=SECONDS`; the papers' own sizes by `--scale paper` (hours)."
        )
    if config.scale != "paper":
        larger = "default` (half an hour)" if config.scale == "smoke" else "paper` (hours)"
        return f"More: larger sizes by `--scale {larger}."
    return ""


def _lines(file: Path) -> list[dict[str, Any]]:
    try:
        return read_lines(file)
    except StepError:
        # If only one experiment was requested, the files of the others do not exist.
        return []
