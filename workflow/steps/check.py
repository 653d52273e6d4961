"""The reproducibility check: print all verdicts, and compare this run with the reference run.

    python -m svmrepro.workflow.steps.check --config CONFIG [--write-reference]

The step prints the verdicts, compares this run with the reference in ``results/reference/<scale>/``, and
writes ``check.json`` (verdicts, machine, outcome of the comparison) and ``check.xml`` (JUnit). It appends a
summary to the file named by ``GITHUB_STEP_SUMMARY``, if that is set. The exit code is 1

- if a claim that held there does not hold here, unless the claim is about seconds and wider intervals leave
  it undecided;
- if counts or objectives differ by more than `svmrepro.workflow.judgement.reference_check` allows;
- if there is nothing to compare with: no reference of this scale, or none of this run's papers.

The last line gives the number of the reference's rows that were compared; with ``require_complete`` it must
be all of them, and the reference must have all rows and claims of this run.

With ``--write-reference`` this run becomes the reference of its scale. The raw measurements as Parquet and
the papers' tables are copied to ``results/reference/<scale>/``, and the figures to
``figures/reference/<scale>/``, to be committed. Other files of these papers there are deleted.
"""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.comparison.compared_run import read_run
from svmrepro.workflow.configuration import Config, Paper, paths
from svmrepro.workflow.errors import StepError, writing
from svmrepro.workflow.files import atomic_path, atomic_write
from svmrepro.workflow.judgement.check_report import Verdicts, junit, markdown
from svmrepro.workflow.judgement.claims import (
    BENT,
    HEADLINE,
    UNASKED,
    UNDECIDED,
    UNMEASURED,
    clocked_claims,
    read_verdicts,
    tally,
)
from svmrepro.workflow.judgement.reference_check import (
    Entry,
    ReferenceCheck,
    about,
    compare,
    is_read,
    summarise,
)
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.steps._command_line import run_step

WIDTH = 110
"""Columns of the printed table."""


def run(config: Config, *, write_reference: bool = False) -> int:
    """Run the check; return the exit code."""
    verdicts = {name: _verdicts(config, paper) for name, paper in config.papers.items()}
    for name, found in verdicts.items():
        print(_printed(config.papers[name].title, found))
    print(_undecided(verdicts))
    described: dict[str, Any] = {}
    rows: list[Entry] = []
    for name, paper in config.papers.items():
        runs = read_runs((paths.measurements(config, name, each) for each in paper.experiments), is_read)
        described[name] = about(runs)
        rows += summarise(runs)
    record: dict[str, Any] = {
        "scale": config.scale,
        "papers": described,
        "claims": _claims(verdicts, "verdict"),
        "claims_on_paper": _claims(verdicts, "on_paper"),
    }
    reference = paths.reference(config)
    why = (
        f"there is no reference run of the {config.scale} scale ({reference}); in a clone, "
        "`./run reference` makes this run the reference"
    )
    outcome: ReferenceCheck | None = None
    if reference.is_dir() and any(reference.iterdir()) and not write_reference:
        outcome = compare(
            read_run(reference, config.papers, estimates=False).record,
            {**record, "rows": rows},
            clocked=clocked_claims(config),
            complete=config.require_complete,
        )
        if not outcome.of and not outcome.faults:
            why = f"the reference run of the {config.scale} scale has no row of {', '.join(config.papers)}"
            outcome = None
    record["comparison"] = outcome and vars(outcome)
    atomic_write(paths.check(config), json.dumps(record, indent=1, sort_keys=True) + "\n")
    atomic_write(paths.check(config).with_suffix(".xml"), junit(config.scale, verdicts, outcome))
    _summarise(config, verdicts, outcome)
    if write_reference:
        return _write_reference(config)
    if outcome is None:
        raise StepError(f"nothing compared: {why}")
    print(_printed_comparison(outcome))
    return 1 if outcome.faults else 0


def _summarise(config: Config, verdicts: Verdicts, outcome: ReferenceCheck | None) -> None:
    """Append a summary to the file that GitHub Actions shows, if this is such a run."""
    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        titles = {name: paper.title for name, paper in config.papers.items()}
        with writing(Path(place)), Path(place).open("a", encoding="utf-8") as stream:
            stream.write(markdown(config.scale, titles, verdicts, outcome))


def _verdicts(config: Config, paper: Paper) -> list[dict[str, str]]:
    """Return the rows of the paper's claims.csv; empty if it has no table of claims."""
    return [
        row for name in paper.claims for row in read_verdicts(paths.table(config, paper.name, name)["csv"])
    ]


def _claims(verdicts: Verdicts, column: str) -> dict[str, dict[str, str]]:
    """Return a column of the papers' tables of claims, by paper and claim."""
    return {name: {row["id"]: row[column] for row in rows} for name, rows in verdicts.items()}


def _write_reference(config: Config) -> int:
    """Copy what is committed: measurements, fits, tables and figures."""
    folder = paths.reference(config)
    figures = folder.parents[2] / "figures" / folder.parent.name / folder.name
    copies: list[tuple[Path, Path]] = []
    for name, paper in config.papers.items():
        measurements = paths.measurements(config, name).with_suffix(".parquet")
        files = [measurements, paths.fits(config, name), paths.ratios(config, name)]
        copies += [(source, folder / name / source.name) for source in files]
        for artefact in paper.artefacts.values():
            target = folder if artefact.form == "table" else figures
            made = paths.artefact(config, name, artefact).values()
            copies += [(source, target / name / source.name) for source in made]
    if missing := [source for source, _ in copies if not source.is_file()]:
        others = f" (and {plural(len(missing) - 1, 'other file')})" if len(missing) > 1 else ""
        raise StepError(f"{missing[0]}{others}: missing; make the whole run before it becomes the reference")
    for source, target in copies:
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)
    targets = {target for _, target in copies}
    for place in {target.parent for target in targets}:
        for path in place.iterdir():
            if path not in targets and path.is_file():
                path.unlink()
    print(f"The reference of the {config.scale} scale is now this run: {folder} and {figures}.")
    return 0


def _printed(title: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Format the verdicts: verdict and claim, and below them the measured value.

    Claims that are not measured are only counted if more than three have the same reason.
    """
    lines = [f"\n{title}", "-" * len(title)]
    absent = Counter(row["measured"] for row in rows if row["verdict"] == UNMEASURED)
    alike = {reason: number for reason, number in absent.items() if number > 3}
    for row in rows:
        if row["verdict"] == UNMEASURED and row["measured"] in alike:
            continue
        lines.append(f"{row['verdict']:<24} {row['id']}")
        said = row["measured"]
        if row["on_paper"] != UNASKED:
            said += f" | on the paper's numbers: {row['on_paper']}"
        lines += textwrap.wrap(said, WIDTH, initial_indent=" " * 25, subsequent_indent=" " * 25)
    for reason, number in alike.items():
        text = f"{UNMEASURED:<24} {number} claims: {reason}"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent=" " * 25)
    count = Counter(row["verdict"] for row in rows if row["counted"] == "yes")
    aside = len(rows) - count.total()
    lines.append((tally(count) or "no claims") + (f" ({aside} listed, not counted)" if aside else ""))
    return "\n".join(lines) + "\n"


def _undecided(verdicts: Verdicts) -> str:
    """Name the headline claims whose intervals straddle the bound; others are too small or not measured."""
    counted = [row for rows in verdicts.values() for row in rows if row["counted"] == "yes"]
    headlines = [row for row in counted if row.get("kind") == HEADLINE]
    undecided = [row for row in headlines if row["verdict"] == UNDECIDED]
    bent = [row["id"] for row in undecided if BENT in row["measured"]]
    noisy = [row["id"] for row in undecided if BENT not in row["measured"]]
    said = []
    for named, why in (
        (noisy, "undecided because of noise"),
        (bent, "undecided because the points do not lie on a line"),
    ):
        line = f"Headline claims {why}: {len(named)} of {len(headlines)}"
        said += textwrap.wrap(f"{line}: {', '.join(named)}" if named else line, WIDTH)
    return "\n".join(said) + "\n"


def _printed_comparison(outcome: ReferenceCheck) -> str:
    lines = [f"Compared with the reference run ({outcome.how}): {outcome.rows:,} of {outcome.of:,} rows."]
    lines += [f"  note: {remark}" for remark in outcome.remarks]
    lines += [f"  FAULT: {fault}" for fault in outcome.faults[:40]]
    if len(outcome.faults) > 40:
        lines.append(f"  ... and {len(outcome.faults) - 40} more faults (check.json lists all)")
    missed = outcome.of - outcome.rows
    if outcome.faults:
        lines.append(f"Not reproduced: {plural(len(outcome.faults), 'fault')}.")
    elif missed:
        lines.append(f"Reproduced on {outcome.rows:,} of {outcome.of:,} rows; {missed:,} not measured.")
    else:
        lines.append(f"Reproduced on all {outcome.of:,} rows.")
    return "\n".join(lines)


if __name__ == "__main__":
    run_step(run, answers=True)
