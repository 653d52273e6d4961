"""The reproducibility check: print all verdicts, and compare this run with the reference run.

    python -m svmrepro.workflow.steps.check --config CONFIG [--write-reference]

The step prints the verdicts, writes ``check.json`` (verdicts, machine, counts of every row, comparison) and
``check.xml`` (JUnit), appends a summary to the file named by ``GITHUB_STEP_SUMMARY``, if it is set, and
compares it with ``results/reference/<scale>/check.json``. The exit code is 1

- if a claim that held there does not hold here, unless the claim is about seconds and wider intervals leave
  it undecided;
- if counts or objectives differ by more than `svmrepro.workflow.judgement.reference_check` allows;
- if there is nothing to compare with: no reference of this scale, or none of this run's papers.

The last line gives the number of the reference's rows that were compared; with ``require_complete`` it must
be all of them.

With ``--write-reference`` this run becomes the reference of its scale. check.json, the raw measurements as
Parquet and the papers' tables are copied to ``results/reference/<scale>/``, and the figures to
``figures/reference/<scale>/``, to be committed.
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

from svmrepro.workflow.analysis.runs import read_rows, read_runs
from svmrepro.workflow.configuration import Config, Paper, paths
from svmrepro.workflow.errors import StepError, writing
from svmrepro.workflow.files import atomic_path, atomic_write
from svmrepro.workflow.judgement.check_file import (
    CLAIM_COLUMNS,
    CLAIM_FORM,
    SCHEMA,
    read_record,
)
from svmrepro.workflow.judgement.check_report import Verdicts, junit, markdown
from svmrepro.workflow.judgement.claims import BENT, HEADLINE, UNASKED, UNDECIDED, clocked_claims, tally
from svmrepro.workflow.judgement.reference_check import (
    ReferenceCheck,
    about,
    compare,
    fold,
    summarise,
)
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.steps._command_line import run_step

KEPT = 10
"""Permutations per problem that a committed reference keeps: enough to detect a fault, but small."""
WIDTH = 110
"""Columns of the printed table."""


def run(config: Config, *, write_reference: bool = False) -> int:
    """Run the check; return the exit code."""
    verdicts = {name: _verdicts(config, paper) for name, paper in config.papers.items()}
    for name, rows in verdicts.items():
        print(_printed(config.papers[name].title, rows))
    print(_undecided(verdicts))
    record = _record(config, verdicts)
    reference = paths.reference(config) / "check.json"
    outcome: ReferenceCheck | None = None
    if reference.is_file() and not write_reference:
        outcome = compare(
            read_record(reference), record, clocked=clocked_claims(config), complete=config.require_complete
        )
        record["comparison"] = vars(outcome)
    atomic_write(paths.check(config), _to_json(record))
    atomic_write(paths.check(config).with_suffix(".xml"), junit(config.scale, verdicts, outcome))
    _summarise(config, verdicts, outcome)
    if write_reference:
        return _write_reference(config, record)
    scale = f"reference run of the {config.scale} scale"
    if outcome is None:
        raise StepError(
            f"nothing compared: there is no {scale} ({reference.parent}); in a clone, "
            "`./run reference` makes this run the reference"
        )
    if not outcome.of and not outcome.faults:
        raise StepError(f"nothing compared: the {scale} has no row of {', '.join(config.papers)}")
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
        row
        for name in paper.claims
        for row in read_rows(paths.table(config, paper.name, name)["csv"], CLAIM_COLUMNS, CLAIM_FORM)
    ]


def _record(config: Config, verdicts: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, Any]:
    """Return the content of check.json, except the comparison."""
    runs = {
        name: read_runs(paths.measurements(config, name, each) for each in paper.experiments)
        for name, paper in config.papers.items()
    }
    return {
        "schema": SCHEMA,
        "scale": config.scale,
        "papers": {name: about(each) for name, each in runs.items()},
        "claims": {name: {row["id"]: row["verdict"] for row in rows} for name, rows in verdicts.items()},
        "claims_on_paper": {
            name: {row["id"]: row["on_paper"] for row in rows} for name, rows in verdicts.items()
        },
        "rows": [row for each in runs.values() for row in summarise(each)],
        "comparison": None,
    }


def _to_json(record: Mapping[str, Any], most: int | None = None) -> str:
    """Return a record as JSON, one line per problem and contender, with up to ``most`` permutations."""
    rows = fold(record["rows"])
    for row in rows:
        row["runs"] = dict(list(row["runs"].items())[:most])
    lines = ",\n  ".join(json.dumps(row, sort_keys=True) for row in rows)
    text = json.dumps({**record, "rows": []}, indent=1, sort_keys=True)
    return text.replace('"rows": []', f'"rows": [\n  {lines}\n ]' if lines else '"rows": []') + "\n"


def _write_reference(config: Config, record: Mapping[str, Any]) -> int:
    """Copy what is committed: measurements, fits, tables, figures and the record of the check."""
    folder = paths.reference(config)
    figures = folder.parents[2] / config.figures_dir.name / folder.parent.name / folder.name
    copies: list[tuple[Path, Path]] = []
    for name, paper in config.papers.items():
        measurements = paths.measurements(config, name).with_suffix(".parquet")
        files = [measurements, paths.fits(config, name), paths.ratios(config, name)]
        copies += [(source, folder / name / source.name) for source in files]
        for artefact in paper.artefacts.values():
            target = folder if artefact.form == "table" else figures
            made = paths.artefact(config, name, artefact).values()
            copies += [(source, target / name / source.name) for source in made]
    for source in (source for source, _ in copies if not source.is_file()):
        raise StepError(f"{source}: missing; make the whole run before it becomes the reference")
    for source, target in copies:
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)
    atomic_write(folder / "check.json", _to_json(_with_other_papers(record, folder / "check.json"), KEPT))
    print(f"The reference of the {config.scale} scale is now this run: {folder} and {figures}.")
    return 0


def _with_other_papers(record: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Add those papers of the reference that this run did not make.

    An earlier reference that cannot be read is replaced as a whole, with a message.
    """
    if not path.is_file():
        return record
    try:
        before = read_record(path)
    except StepError as error:
        print(f"The earlier reference cannot be read, so all of it is replaced: {error}")
        return record
    others = before["papers"].keys() - record["papers"].keys()
    return {
        **record,
        **{
            part: {
                **{name: each for name, each in before[part].items() if name in others},
                **record[part],
            }
            for part in ("papers", "claims", "claims_on_paper")
        },
        "rows": [row for row in before["rows"] if row["paper"] in others] + record["rows"],
    }


def _printed(title: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Format the verdicts: verdict and claim, and below them the measured value."""
    lines = [f"\n{title}", "-" * len(title)]
    for row in rows:
        lines.append(f"{row['verdict']:<24} {row['id']}")
        said = row["measured"]
        if row["on_paper"] != UNASKED:
            said += f" | on the paper's numbers: {row['on_paper']}"
        lines += textwrap.wrap(said, WIDTH, initial_indent=" " * 25, subsequent_indent=" " * 25)
    count = Counter(row["verdict"] for row in rows if row["counted"] == "yes")
    lines.append(tally(count) or "no claims")
    return "\n".join(lines) + "\n"


def _undecided(verdicts: Verdicts) -> str:
    """Name the headline claims whose intervals straddle the bound; others are too small or not measured."""
    headlines = [row for rows in verdicts.values() for row in rows if row.get("kind") == HEADLINE]
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
