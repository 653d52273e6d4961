"""Tables comparing two runs: summary, verdicts, counts, exponents, ratios between contenders."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from svmrepro.workflow.analysis.results import short_commit
from svmrepro.workflow.analysis.runs import CPU, QUANTITIES, WORK
from svmrepro.workflow.comparison.compared_run import ComparedRun
from svmrepro.workflow.comparison.paired_runs import (
    ALONE,
    CHANGED,
    CLOSE,
    DIFFERS,
    ELSEWHERE,
    NAMES,
    OTHER_DATA,
    SAME,
    SETTINGS,
    UNCHANGED,
    UNJUDGED,
    UNSOLVED,
    MatchedRow,
    PairedRuns,
    claim_change,
)
from svmrepro.workflow.judgement.claims import SCALES_WITHOUT_CLOCK
from svmrepro.workflow.number_text import plural, significant
from svmrepro.workflow.result_files.measurement_columns import LABELS, MACHINE_IDENTITY, machine_label
from svmrepro.workflow.statistics import Fit, Interval
from svmrepro.workflow.tables.claims import MARKS
from svmrepro.workflow.tables.layout.cells import BLANK, DASH, Cell, count, estimate, exponent, missing, prose
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection

HERE, THERE = "here", "there"
COMPATIBLE = AGREE, DISAGREE = "agree", "differ"
JUDGED = {SAME: "good", CLOSE: "good", ELSEWHERE: "open", DIFFERS: "bad", AGREE: "good", DISAGREE: "bad"}
"""Verdict -> colour."""

ROWS = (SAME, CLOSE, ELSEWHERE, DIFFERS, UNSOLVED, SETTINGS, OTHER_DATA)
"""Verdicts on rows, in the order of the summary."""

HEADERS = {CPU: "CPU seconds", WORK: "counted work"}

MOST_NAMED = 6

Rows = Sequence[Mapping[str, Cell]]


def about(pair: PairedRuns) -> Table:
    """Describe both runs: folder, date, machine, commit, and what is missing."""
    machines = [_machines(side) for side in (pair.here, pair.there)]
    facts = list(dict.fromkeys(name for each in machines for name in each))
    sides = [
        {
            "folder": str(side.folder),
            "scale": side.scale,
            "last measured": side.measured[:10],
            "papers": ", ".join(side.papers),
            "measurements": f"{side.measurements:,}",
            "rows: problem, seed and contender": f"{len(side.rows):,}",
            "commit": ", ".join(dict.fromkeys(map(short_commit, side.commits))),
            "timing protocol": " and ".join(side.protocols),
            "missing": pair.missing(side),
            **{name: "; ".join(sorted(machine.get(name, ()))) for name in facts},
        }
        for side, machine in zip((pair.here, pair.there), machines, strict=True)
    ]
    rows = []
    for name in sides[0]:
        here, there = (side[name] or (DASH if name == "missing" else "not known") for side in sides)
        changed = name in facts and here != there
        rows.append({"fact": prose(name), HERE: prose(here), THERE: prose(there, "open" if changed else "")})
    columns = [
        Column("fact", "property", prose=True),
        Column(HERE, "this run", prose=True),
        Column(THERE, "other run", prose=True),
    ]
    how = pair.outcome.how
    return _table("The two runs", columns, rows, f"Counts and objectives: {how}.")


def _machines(side: ComparedRun) -> dict[str, set[str]]:
    """Return what a run's machines were, by the words for the fields of their records."""
    found: dict[str, set[str]] = {}
    names = dict.fromkeys(name for each in side.machines for name in sorted(each))
    packages = [name for name in names if name.startswith("versions.") and name != "versions.svmrepro"]
    for name in (*MACHINE_IDENTITY, *packages):
        if values := {each[name] for each in side.machines if each.get(name)}:
            found[machine_label(name)] = values
    return found


def summary(pair: PairedRuns) -> Table:
    """Build one line per paper: how many rows, verdicts, exponents and ratios agree."""
    columns = list(_tallies(pair, ""))
    rows = []
    for paper in pair.here.papers:
        cells = {column.key: count(times) for column, times in _tallies(pair, paper).items()}
        if cells[DIFFERS].value:
            cells[DIFFERS] = replace(cells[DIFFERS], mark="bad")
        rows.append({"paper": prose(paper), **cells})
    faults = pair.outcome.faults
    notes = [
        *_protocols(pair),
        f"With the other run as its reference, the check would report {plural(len(faults), 'fault')}"
        + (":" if faults else "."),
        *faults[:MOST_NAMED],
    ]
    if len(faults) > MOST_NAMED:
        notes.append(f"and {len(faults) - MOST_NAMED} more")
    for keys, where in zip(pair.alone, ("this run", "the other run"), strict=True):
        if keys:
            named = "; ".join(f"{experiment} n = {n:,}, {label}" for _, experiment, n, label, _ in keys[:3])
            notes.append(f"{plural(len(keys), 'row')} only in {where}, such as {named}.")
    if pair.other_data_pairs:
        notes.append(_other_data_note(pair))
    return _table("Summary", [Column("paper", "paper", prose=True), *columns], rows, *notes)


def _other_data_note(pair: PairedRuns) -> str:
    """Count the pairs that are not compared because their data differ."""
    seeds = sum(pair.other_data_pairs.values())
    problems = dict.fromkeys(f"{experiment} n = {n:,}" for _, experiment, n, *_ in pair.other_data_pairs)
    return (
        f"Other data: {plural(seeds, 'pair')} in {plural(len(pair.other_data_pairs), 'row')} "
        f"({', '.join(problems)}) have the same seed, but refer to different data. Neither these pairs nor "
        "ratios on these problems are compared."
    )


def _protocols(pair: PairedRuns) -> list[str]:
    """Return a note if the protocols of timing differ."""
    said = pair.other_protocol
    return [f"{said[0].upper()}{said[1:]}."] if said else []


def _tallies(pair: PairedRuns, paper: str) -> dict[Column, int]:
    """Return column of the summary -> how often it applies to a paper."""
    group = "rows: counts and objectives"
    rows = Counter(row.verdict for row in pair.rows if row.key[0] == paper)
    only_here, only_there = (sum(key[0] == paper for key in keys) for keys in pair.alone)
    changes = Counter(claim_change(*both) for (name, _), both in pair.claims.items() if name == paper)
    slopes = Counter(
        _compatible(_difference(*both)) for key, both in pair.exponents.items() if key[0] == paper
    )
    quotients = Counter(
        _compatible(here.over(there), at=1.0)
        for key, (here, there) in pair.ratios.items()
        if key[0] == paper and key[-1] == CPU
    )
    return {
        **{
            Column(_key(word), word, group=group, shown=word not in (SETTINGS, OTHER_DATA)): rows[word]
            for word in ROWS
        },
        Column("only_here", "only here", group=group): only_here,
        Column("only_there", "only there", group=group): only_there,
        Column("claims_same", UNCHANGED, group="verdicts"): changes[UNCHANGED],
        Column("claims_changed", CHANGED, group="verdicts"): changes[CHANGED],
        Column("claims_alone", "in one run", group="verdicts"): changes[ALONE],
        Column("claims_unjudged", "in neither", group="verdicts"): changes[UNJUDGED],
        **{Column(f"exponents_{word}", word, group="exponents"): slopes[word] for word in COMPATIBLE},
        **{Column(f"ratios_{word}", word, group="ratios of seconds"): quotients[word] for word in COMPATIBLE},
    }


def claims(pair: PairedRuns, papers: Sequence[str]) -> Table:
    """Build one line per claim, with both verdicts and measured values; changed claims first, then judged."""
    found = {key: both for key, both in pair.claims.items() if key[0] in papers}
    rows = []
    for (paper, name), (here, there) in sorted(found.items(), key=lambda item: _interest(*item[1])):
        measured = [side.claims[paper].get(name, ("", ""))[1] for side in (pair.here, pair.there)]
        rows.append(
            {
                "paper": prose(paper),
                "claim": prose(name),
                HERE: prose(here, MARKS.get(here, "")) if here else missing("not listed"),
                THERE: prose(there, MARKS.get(there, "")) if there else missing("not listed"),
                "measured_here": prose(measured[0]),
                "measured_there": prose(measured[1]),
            }
        )
    columns = [
        Column("paper", "paper", prose=True, shown=len(papers) > 1),
        Column("claim", "claim", prose=True),
        Column(HERE, "this run", prose=True),
        Column(THERE, "other run", prose=True),
        Column("measured_here", "measured in this run", prose=True),
        Column("measured_there", "measured in the other run", prose=True),
    ]
    changed = sum(key in pair.changed for key in found)
    note = f"{plural(len(rows), 'claim')}, {changed} with a different verdict."
    return _table("Claims", columns, rows, note)


def measurements(pair: PairedRuns, papers: Sequence[str]) -> Table:
    """Build one line per problem and contender that both runs have: ratio of counts, here over there."""
    columns = [
        *_naming(papers),
        Column("point", "C or ε", prose=True, shown=any(row.key[4] for row in pair.rows)),
        Column("contender", "contender", prose=True),
        Column("pairs", "pairs"),
        Column("verdict", "counts", prose=True),
        *(Column(_key(name), LABELS[name], group="this run over the other") for name in NAMES),
        Column("detail", "detail", prose=True, shown=False),
        *(
            Column(f"{_key(name)}_{side}", f"{LABELS[name]}, {side}", shown=False)
            for name in NAMES
            for side in (HERE, THERE)
        ),
    ]
    return _table(
        "Counts and objectives",
        columns,
        [_measured(row) for row in pair.rows if row.key[0] in papers],
        "Medians of this run's value over the other run's, with 95 % intervals over the permutations; "
        "the ratio of a single pair is exact.",
        f"“{ELSEWHERE}”: objective and support vectors agree; rounding changed the number of steps.",
    )


def exponents(pair: PairedRuns, papers: Sequence[str]) -> Table:
    """Build one line per contender of an experiment: its exponents in both runs."""
    columns = [*_naming(papers)[:2], Column("contender", "contender", prose=True)]
    for quantity in QUANTITIES:
        group = f"exponent of {HEADERS[quantity]}"
        columns += [
            *_beside(quantity, group, "difference"),
            Column(f"{quantity}_verdict", "", group=group, prose=True),
            Column(f"{quantity}_sizes", "sizes, this run / other run", shown=False),
        ]
    rows: dict[tuple[str, ...], dict[str, Cell]] = {}
    for (*key, quantity), both in pair.exponents.items():
        if key[0] in papers:
            named = dict(zip(("paper", "experiment", "contender"), map(prose, key), strict=True))
            rows.setdefault(tuple(key), named).update(_slopes(quantity, *both))
    return _table(
        "Exponents",
        columns,
        list(rows.values()),
        "Exponents have no unit, so those of seconds can be compared across machines. They agree if the "
        "95 % interval of their difference contains 0.",
        *_protocols(pair),
    )


def ratios(pair: PairedRuns, papers: Sequence[str]) -> Table:
    """Build one line per pair of contenders on a problem: their ratio in each run, and the quotient."""
    columns = [*_naming(papers), Column("contenders", "ratio of", prose=True)]
    for quantity in QUANTITIES:
        columns += _beside(quantity, HEADERS[quantity], "change")
    columns.append(Column("verdict", "seconds", prose=True))
    rows: dict[tuple[object, ...], dict[str, Cell]] = {}
    for key, (here, there) in pair.ratios.items():
        paper, experiment, n, above, below, quantity = key
        if paper not in papers:
            continue
        named = {"paper": prose(paper), "experiment": prose(experiment), "n": count(n)}
        row = rows.setdefault(key[:-1], {**named, "contenders": prose(f"{above} / {below}")})
        change = here.over(there)
        row[f"{quantity}_{HERE}"], row[f"{quantity}_{THERE}"] = estimate(here), estimate(there)
        row[f"{quantity}_change"] = estimate(change)
        if quantity == CPU:
            row["verdict"] = _judged(_compatible(change, at=1.0))
    notes = [
        "Seconds are never compared across runs. Each ratio is of two contenders in one process; the "
        "change is this run's ratio over the other's. They agree if the 95 % interval of the change "
        "contains 1, which fails for one in twenty pairs of runs of the same code."
    ]
    notes += _protocols(pair)
    short = sorted({side.scale for side in (pair.here, pair.there)} & set(SCALES_WITHOUT_CLOCK))
    if short:
        notes.append(f"Runs of the {short[0]} scale are too short to compare seconds.")
    return _table("Ratios between contenders", columns, list(rows.values()), *notes)


TABLES: Mapping[str, Callable[[PairedRuns, Sequence[str]], Table]] = {
    "claims": claims,
    "measurements": measurements,
    "exponents": exponents,
    "ratios": ratios,
}
"""File name -> function that builds the table."""


def _table(title: str, columns: Sequence[Column], rows: Rows, *notes: str) -> Table:
    return Table(title, (TableSection(columns, rows),), notes=notes)


def _beside(quantity: str, group: str, third: str) -> list[Column]:
    """Return the columns of a quantity in both runs, and of their comparison."""
    headers = {HERE: "this run", THERE: "other run", third: third}
    return [Column(f"{quantity}_{key}", header, group=group) for key, header in headers.items()]


def _naming(papers: Sequence[str]) -> list[Column]:
    return [
        Column("paper", "paper", prose=True, shown=len(papers) > 1),
        Column("experiment", "experiment", prose=True),
        Column("n", "n"),
    ]


def _measured(row: MatchedRow) -> dict[str, Cell]:
    paper, experiment, n, contender, point = row.key
    cells = {
        "paper": prose(paper),
        "experiment": prose(experiment),
        "n": count(n),
        "point": prose(point),
        "contender": prose(contender),
        "pairs": count(row.pairs),
        "verdict": replace(_judged(row.verdict), detail=row.detail),
        "detail": prose(row.detail),
    }
    for name in NAMES:
        ratio = row.ratio(name)
        if ratio is None:
            cells[_key(name)] = missing("not in both runs", DASH) if row.pairs else BLANK
            continue
        cells[_key(name)] = _ratio_cell(ratio)
        for side, values in zip((HERE, THERE), row.values[name], strict=True):
            middle = statistics.median(values)
            cells[f"{_key(name)}_{side}"] = Cell(middle, f"{middle:g}")
    return cells


def _ratio_cell(ratio: Interval) -> Cell:
    """Format a ratio with enough digits that only an exact 1 reads as 1."""
    cell, off = estimate(ratio, digits=4), ratio.value - 1.0
    if off == 0.0:
        return replace(cell, text="1")
    if abs(off) < 5e-4:
        return replace(cell, text=f"1 {'+' if off > 0 else '−'} {significant(abs(off), 2)}", detail="")
    return cell


def _slopes(quantity: str, here: Fit, there: Fit) -> dict[str, Cell]:
    difference = _difference(here, there)
    cells = {
        f"{quantity}_difference": exponent(difference),
        f"{quantity}_verdict": _judged(_compatible(difference)),
        f"{quantity}_sizes": prose(" / ".join(f"{fit.n_min}-{fit.n_max}" for fit in (here, there))),
    }
    for side, fit in ((HERE, here), (THERE, there)):
        cell = exponent(fit.exponent)
        if (here.n_min, here.n_max) != (there.n_min, there.n_max):
            cell = replace(cell, detail=f"{cell.detail}; n = {fit.n_min:,} … {fit.n_max:,}")
        cells[f"{quantity}_{side}"] = cell
    return cells


def _difference(here: Fit, there: Fit) -> Interval:
    assert here.exponent is not None and there.exponent is not None
    return here.exponent.minus(there.exponent)


def _compatible(interval: Interval, at: float = 0.0) -> str:
    """Return whether an interval contains the value of no difference; "" without ends."""
    if interval.ends is None:
        return ""
    slack = 1e-9  # exact numbers lose digits in logarithms
    return AGREE if interval.ends[0] - slack <= at <= interval.ends[1] + slack else DISAGREE


def _judged(word: str) -> Cell:
    return prose(word, JUDGED.get(word, ""))


def _interest(here: str, there: str) -> int:
    return (CHANGED, ALONE, UNCHANGED, UNJUDGED).index(claim_change(here, there))


def _key(name: str) -> str:
    return name.rpartition(".")[2].replace(" ", "_").replace("%", "percent")
