"""Tables, intervals and figures of a run again, from its raw measurements alone: the command ``remake``."""

from __future__ import annotations

import math
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

from svmrepro.workflow.analysis.run_files import FORM, REQUIRED
from svmrepro.workflow.analysis.tidy import flatten, join_pieces
from svmrepro.workflow.configuration import Config, Experiment, load_config, paths
from svmrepro.workflow.configuration.jobs import Instance
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.files import atomic_path, atomic_write
from svmrepro.workflow.journal.journal_line import shown
from svmrepro.workflow.locks import lock
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.result_files.result_rows import read_rows
from svmrepro.workflow.steps import analyse, check, collect, plot, tabulate
from svmrepro.workflow.steps.crate import MEASUREMENTS

FROM_DATA = ("zeros",)
"""Columns of tables that are counted in a data set, not measured; they are not compared."""

_PROVENANCE = re.compile(r"^\*.*measurements.*\*$|<footer>.*</footer>", re.MULTILINE)
"""The line below a table that says when and where it was measured, in Markdown and in HTML."""

_MARKUP = re.compile(r"<style>.*?</style>|<[^>]*>", re.DOTALL)
_WORD = re.compile(r"[^\s\",:()\[\]{}|]+")

TOLERANCE = 1e-9
"""Relative difference of two numbers that count as equal: another processor sums in another order."""

DRAWN = 1e-7
"""The same of numbers that a figure draws, which are written with nine digits."""

TINY = 1e-15
"""Absolute difference of two results that count as equal, as of a sum that should be zero."""


def run(folders: Sequence[Path], output: Path, reference: bool = False, figures: bool = True) -> int:
    """Make everything again, compare it with the tables of a single folder, and return the exit code.

    Several folders hold pieces of a run, see :func:`~svmrepro.workflow.analysis.tidy.join_pieces`. Artefacts
    about a data set or a small example are copied from them, as they have no measurements. With
    ``reference``, the result becomes the committed reference run of its scale, without a comparison. Figures
    are compared by the numbers that they draw. They can be left out.
    """
    found = _measured(folders)
    config = _config(found, output)
    target = paths.results(config)
    if (target / "journal").is_dir() or target.resolve() in {folder.resolve() for folder in folders}:
        raise StepError(f"--output: {target} is a run, which would be overwritten; name another folder")

    def in_use(owner: str) -> None:
        raise StepError(f"--output: {target} is in use by {owner}; name another folder")

    with lock(paths.run_lock_file(config), in_use):
        return _run(config, found, folders, reference, figures)


_Rows = list[dict[str, str]]


def _run(
    config: Config,
    found: Mapping[str, Mapping[str, list[_Rows]]],
    folders: Sequence[Path],
    reference: bool,
    figures: bool,
) -> int:
    for paper in config.papers:
        _split(config, paper, found[paper])
        collect.run(config, paper)
        _artefacts(config, paper, folders, figures)
    if reference:
        for folder in folders:
            _keep_counts_of_data(config, folder)
        return check.run(config, write_reference=True)
    if len(folders) > 1:
        print(f"The results of all pieces are in {paths.results(config)}.")
        return 0
    made, differences = _compare(config, folders[0])
    drawn = 0
    if figures:
        drawn, others = _compare_figures(config, folders[0])
        differences += others
    print("\n".join(differences))
    what = plural(made, "table") + (f" and {plural(drawn, 'figure')}" if drawn else "")
    print(
        f"{what} of {', '.join(found)} made again from the measurements; "
        f"{plural(len(differences), 'difference')}. They are in {paths.results(config)}."
    )
    return 1 if differences else 0


def _measured(folders: Sequence[Path]) -> dict[str, dict[str, list[_Rows]]]:
    """Return the measurements of each paper and experiment, folder by folder."""
    found: dict[str, dict[str, list[_Rows]]] = {}
    for folder in folders:
        files = sorted(folder.glob(f"*/{MEASUREMENTS}"))
        if not files:
            raise StepError(f"{folder}: no <paper>/{MEASUREMENTS} in it")
        for file in files:
            paper, experiments = file.parent.name, defaultdict[str, _Rows](list)
            required = (*REQUIRED, "paper", "scale", "seed", "point", "cpu_seconds")
            for place, row in enumerate(read_rows(file, required, FORM), start=1):
                if row["paper"] != paper:
                    raise StepError(f"{file}: row {place}: paper: {row['paper']!r}, in the folder of {paper}")
                experiments[row["experiment"]].append(row)
            pieces = found.setdefault(paper, {})
            for name, rows in experiments.items():
                pieces.setdefault(name, []).append(rows)
    return found


def _config(found: Mapping[str, Mapping[str, list[_Rows]]], output: Path) -> Config:
    """Return the configuration of the scale that was measured, for the papers found."""
    pieces = [piece for experiments in found.values() for each in experiments.values() for piece in each]
    scales = {row["scale"] for piece in pieces for row in piece}
    if len(scales) != 1:
        raise StepError(f"measurements of one scale expected, not of {', '.join(sorted(scales)) or 'none'}")
    known = list(load_config({"scale": (scale := scales.pop())}).papers)
    papers = sorted(found, key=lambda paper: (known.index(paper) if paper in known else len(known), paper))
    folders = {f"{name}_dir": str(output / name) for name in ("results", "figures")}
    return load_config({"scale": scale, "papers": papers, **folders})


def _split(config: Config, paper: str, found: Mapping[str, list[_Rows]]) -> None:
    """Write measurements, fits and ratios of each experiment."""
    experiments = config.papers[paper].experiments
    if unknown := sorted(set(found) - set(experiments)):
        raise StepError(f"{paper}: no experiment '{unknown[0]}' in the configuration of this version")
    for name, experiment in experiments.items():
        pieces = found.get(name, [])
        _check_settings(experiment, chain.from_iterable(pieces))
        analyse.write(config, paper, name, pieces[0] if len(pieces) == 1 else join_pieces(pieces))


def _check_settings(experiment: Experiment, rows: Iterable[Mapping[str, str]]) -> None:
    """Raise a StepError for a row of another data set, or with other settings, than the configuration's.

    Of a contender that the configuration lacks, only the problem is compared.
    """

    @cache
    def settings(n: str, point: str, label: str) -> dict[str, str]:
        instance = Instance(experiment, int(n), None, float(point) if point else None)
        contender = experiment.contenders.get(label)
        return flatten(instance.settings(contender) if contender else instance.problem)

    for row in rows:
        expected = settings(row["n"], row.get("point", ""), row["contender"])
        groups = ("kernel.", "options.") if row["contender"] in experiment.contenders else ("kernel.",)
        for column in dict.fromkeys((*expected, *(name for name in row if name.startswith(groups)))):
            measured, here = row.get(column, ""), expected.get(column, "")
            if not _same(measured, here, 0.0):
                raise StepError(
                    f"{experiment.paper}: {experiment.name}: n = {row['n']}, {row['contender']}: {column}: "
                    f"{measured or 'none'} in the measurements, {here or 'none'} in the configuration"
                )


def _artefacts(config: Config, paper: str, folders: Sequence[Path], figures: bool) -> None:
    """Make the artefacts again, but copy those about a data set or an example that a folder has."""
    for name, artefact in config.papers[paper].artefacts.items():
        if artefact.form == "figure" and not figures:
            continue
        step = tabulate if artefact.form == "table" else plot
        every = [_places(config, paper, artefact, folder) for folder in folders]
        whole = [places for places in every if all(source.is_file() for source, _ in places)]
        if artefact.measured or "deviations" in artefact.settings or not whole:
            step.run(config, paper, [name])
            continue
        for source, target in whole[0]:
            with atomic_path(target) as temporary:
                shutil.copyfile(source, temporary)


def _keep_counts_of_data(config: Config, folder: Path) -> None:
    """Keep tables of the folder with counts in a data set, which are not made again, if all else is equal."""
    for name, paper in config.papers.items():
        for artefact in paper.artefacts.values():
            places = _places(config, name, artefact, folder) if artefact.form == "table" else []
            tables = [place for place in places if place[0].suffix == ".csv"]
            if not tables or not all(source.is_file() for source, _ in places):
                continue
            before, after = map(read_rows, tables[0])
            counted = any(column.startswith(FROM_DATA) for row in before for column in row)
            if counted and not difference(before, after):
                for source, target in places:
                    text, made = (place.read_text(encoding="utf-8") for place in (source, target))
                    old, new = (_PROVENANCE.search(each) for each in (text, made))
                    if old and new:
                        text = text.replace(old[0], new[0])
                    atomic_write(target, text)


def _places(config: Config, paper: str, artefact: Artefact, folder: Path) -> list[tuple[Path, Path]]:
    """Return where the files of an artefact are in the folder, and where they belong."""
    targets = paths.artefact(config, paper, artefact).values()
    if artefact.form == "table":
        return [(folder / paper / target.name, target) for target in targets]
    # The figures of results/reference/<scale> are in figures/reference/<scale>.
    below = folder.resolve()
    while below.name != "results" and below != below.parent:
        below = below.parent
    figures = below.parent / "figures" / folder.resolve().relative_to(below)
    return [(figures / paper / target.name, target) for target in targets]


def _compare(config: Config, folder: Path) -> tuple[int, list[str]]:
    """Return the number of tables compared, and the differences: of each table the first one."""
    made, differences = 0, []
    for name, paper in config.papers.items():
        measured = folder / name / MEASUREMENTS
        same = measured.with_suffix(".csv")
        if same.is_file() and (what := difference(read_rows(measured), read_rows(same))):
            differences.append(f"{same}: is not {MEASUREMENTS}: {what}")
        tables = [[paths.fits(config, name)], [paths.ratios(config, name)]]
        for artefact in paper.artefacts.values():
            if artefact.form == "table" and artefact.measured:
                tables.append([*paths.artefact(config, name, artefact).values()])
        for files in tables:
            places = {path: folder / name / path.name for path in files}
            if not (before := places[files[0]]).is_file():
                differences.append(f"{before}: missing")
                continue
            made += 1
            rows = read_rows(before)
            what = difference(rows, read_rows(files[0]))
            if not any(column.startswith(FROM_DATA) for row in rows for column in row):
                for path in files[1:]:
                    if not what and (before := places[path]).is_file():
                        what = _other_words(before, path)
            if what:
                differences.append(f"{before}: {what}")
    return made, differences


def _compare_figures(config: Config, folder: Path) -> tuple[int, list[str]]:
    """Return the number of figures compared, and the differences; those that the folder lacks are skipped."""
    made, differences = 0, []
    for name, paper in config.papers.items():
        for artefact in paper.artefacts.values():
            if artefact.form != "figure" or not artefact.measured:
                continue
            for before, after in _places(config, name, artefact, folder):
                if before.suffix == ".json" and before.is_file():
                    made += 1
                    if what := _other_words(before, after, DRAWN):
                        differences.append(f"{before}: {what}")
    return made, differences


def _other_words(before: Path, after: Path, tolerance: float = TOLERANCE) -> str:
    """Describe the first different word of two texts, without their provenance; "" if they agree."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in (before, after))
    old, new = (_WORD.findall(_MARKUP.sub(" ", _PROVENANCE.sub("", text))) for text in texts)
    pairs = zip_longest(old, new, fillvalue="")
    found = (pair for pair in pairs if not _same(*pair, tolerance=tolerance))
    return next((f"{shown(one)}, now {shown(other)}" for one, other in found), "")


def difference(before: list[dict[str, str]], after: list[dict[str, str]]) -> str:
    """Describe the first difference of two tables; "" if they agree."""
    if len(before) != len(after):
        return f"{plural(len(before), 'row')}, now {len(after)}"
    for place, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        for column in dict.fromkeys((*old, *new)):
            if column.startswith(FROM_DATA):
                continue
            if not _same(old.get(column, ""), new.get(column, "")):
                return f"row {place}, {column}: {old.get(column)!r}, now {new.get(column)!r}"
    return ""


def _same(one: str, other: str, tiny: float = TINY, tolerance: float = TOLERANCE) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=tolerance, abs_tol=tiny)
    except ValueError:
        return False
