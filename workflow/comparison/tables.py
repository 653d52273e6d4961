"""Tables comparing two runs: summary, verdicts, counts, exponents, ratios between contenders."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from svmrepro.workflow.analysis.intervals import Interval
from svmrepro.workflow.analysis.number_text import significant
from svmrepro.workflow.analysis.power_law import Fit
from svmrepro.workflow.analysis.results import plural, short_commit
from svmrepro.workflow.analysis.runs import CPU, QUANTITIES, WORK
from svmrepro.workflow.comparison.compared_run import ComparedRun
from svmrepro.workflow.comparison.paired_runs import (
    ALONE,
    CHANGED,
    CLOSE,
    DIFFERS,
    ELSEWHERE,
    NAMES,
    SAME,
    SETTINGS,
    UNCHANGED,
    UNSOLVED,
    MatchedRow,
    PairedRuns,
    claim_change,
    ratio_of_ratios,
)
from svmrepro.workflow.judgement.claims import SCALES_WITHOUT_CLOCK, UNMEASURED
from svmrepro.workflow.tables.claims import MARKS
from svmrepro.workflow.tables.model import (
    BLANK,
    DASH,
    Cell,
    Column,
    Table,
    TableSection,
    count,
    exponent,
    missing,
    number,
    prose,
)

HERE, THERE = "here", "there"
AGREE, DISAGREE = "agree", "differ"
JUDGED = {SAME: "good", CLOSE: "good", ELSEWHERE: "open", DIFFERS: "bad", AGREE: "good", DISAGREE: "bad"}
"""Verdict -> colour."""

HEADERS = {CPU: "CPU seconds", WORK: "counted work"}
MOST_NAMED = 6


def about(pair: PairedRuns) -> Table:
    """Describe both runs: folder, date, machine, commit, and what is missing."""
    facts: list[tuple[str, Callable[[ComparedRun], str]]] = [
        ("folder", lambda side: str(side.folder)),
        ("scale", lambda side: side.scale),
        ("last measured", lambda side: side.measured[:10]),
        ("papers", lambda side: ", ".join(side.papers)),
        ("measurements", lambda side: f"{len(side.rows):,}"),
        ("commit", lambda side: ", ".join(dict.fromkeys(map(short_commit, side.commits)))),
        ("missing", lambda side: "; ".join(side.lacking)),
    ]
    known = dict.fromkeys((*pair.here.machine, *pair.there.machine))
    facts += [(name.removeprefix("machine."), _fact(name)) for name in known]
    rows = []
    for name, tell in facts:
        texts = [tell(side) or "not known" for side in (pair.here, pair.there)]
        if name == "missing":
            texts = ["" if text == "not known" else text for text in texts]
        changed = f"machine.{name}" in known and texts[0] != texts[1]
        mark = "open" if changed else ""
        rows.append({"fact": prose(name), HERE: prose(texts[0]), THERE: prose(texts[1], mark)})
    columns = [
        Column("fact", "", prose=True),
        Column(HERE, "this run", prose=True),
        Column(THERE, "other run", prose=True),
    ]
    how = (
        "Same hardware and versions: counts and objectives must be equal."
        if pair.same_machine
        else "Other or unknown hardware or versions: counts and objectives may differ by 2 %."
    )
    return Table(title="The two runs", sections=(TableSection(columns, rows),), notes=[how])


def summary(pair: PairedRuns) -> Table:
    """Build one line per paper: how many rows, verdicts, exponents and ratios agree."""
    words = (SAME, CLOSE, ELSEWHERE, DIFFERS, UNSOLVED, SETTINGS)
    columns = [
        Column("paper", "paper", prose=True),
        *(
            Column(_key(word), word, group="rows: counts and objectives", shown=word != SETTINGS)
            for word in words
        ),
        Column("only_here", "only here", group="rows: counts and objectives"),
        Column("only_there", "only there", group="rows: counts and objectives"),
        Column("claims_same", UNCHANGED, group="verdicts"),
        Column("claims_changed", CHANGED, group="verdicts"),
        Column("claims_alone", "in one run", group="verdicts"),
        Column("exponents_agree", AGREE, group="exponents"),
        Column("exponents_differ", DISAGREE, group="exponents"),
        Column("ratios_agree", AGREE, group="ratios of seconds"),
        Column("ratios_differ", DISAGREE, group="ratios of seconds"),
    ]
    rows = []
    for paper in pair.here.papers:
        verdicts = [row.verdict for row in pair.rows if row.key[0] == paper]
        claims = [claim_change(*both) for (name, _), both in pair.claims.items() if name == paper]
        slopes = [_compatible(_difference(*both)) for key, both in pair.exponents.items() if key[0] == paper]
        shares = [
            _compatible(ratio_of_ratios(*both), at=1.0)
            for key, both in pair.ratios.items()
            if key[0] == paper and key[-1] == CPU
        ]
        rows.append(
            {
                "paper": prose(paper),
                **{_key(word): _tally(verdicts.count(word), word) for word in words},
                "only_here": count(sum(key[0] == paper for key in pair.alone[0])),
                "only_there": count(sum(key[0] == paper for key in pair.alone[1])),
                "claims_same": count(claims.count(UNCHANGED)),
                "claims_changed": count(claims.count(CHANGED)),
                "claims_alone": count(claims.count(ALONE)),
                "exponents_agree": count(slopes.count(AGREE)),
                "exponents_differ": count(slopes.count(DISAGREE)),
                "ratios_agree": count(shares.count(AGREE)),
                "ratios_differ": count(shares.count(DISAGREE)),
            }
        )
    return Table(title="Summary", sections=(TableSection(columns, rows),), notes=_summary_notes(pair))


def claims(pair: PairedRuns, papers: Sequence[str]) -> Table:
    """Build one line per claim, with both verdicts and measured values; changed claims first, then judged."""
    found = {key: both for key, both in pair.claims.items() if key[0] in papers}
    rows = []
    for (paper, name), (here, there) in sorted(found.items(), key=lambda item: _interest(*item[1])):
        said = [side.claims[paper].get(name, ("", ""))[1] for side in (pair.here, pair.there)]
        rows.append(
            {
                "paper": prose(paper),
                "claim": prose(name),
                HERE: _verdict_cell(here),
                THERE: _verdict_cell(there),
                "measured_here": prose(said[0]),
                "measured_there": prose(said[1]),
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
    return Table(
        title="Claims",
        sections=(TableSection(columns, rows),),
        notes=[f"{plural(len(rows), 'claim')}, {changed} with a different verdict."],
    )


def measurements(pair: PairedRuns, papers: Sequence[str]) -> Table:
    """Build one line per problem and contender that both runs have: ratio of counts, here over there."""
    columns = [
        *_naming(papers),
        Column("point", "C or ε", prose=True, shown=any(row.key[4] for row in pair.rows)),
        Column("contender", "contender", prose=True),
        Column("pairs", "pairs"),
        Column("verdict", "counts", prose=True),
        *(Column(_key(name), shown, group="this run over the other") for name, shown in NAMES.items()),
        Column("detail", "detail", prose=True, shown=False),
        *(
            Column(f"{_key(name)}_{side}", f"{shown}, {side}", shown=False)
            for name, shown in NAMES.items()
            for side in (HERE, THERE)
        ),
    ]
    body = [_measured(row) for row in pair.rows if row.key[0] in papers]
    return Table(
        title="Counts and objectives",
        sections=(TableSection(columns, body),),
        notes=[
            "Medians of this run's value over the other run's, with 95 % intervals over the permutations; "
            "the ratio of a single pair is exact.",
            f"“{ELSEWHERE}”: objective and support vectors agree; rounding changed the number of steps.",
        ],
    )


def exponents(pair: PairedRuns, papers: Sequence[str]) -> Table:
    """Build one line per contender of an experiment: its exponents in both runs."""
    keys = dict.fromkeys(key[:3] for key in pair.exponents if key[0] in papers)
    columns = [
        *_naming(papers)[:2],
        Column("contender", "contender", prose=True),
    ]
    for quantity in QUANTITIES:
        group = f"exponent of {HEADERS[quantity]}"
        columns += [
            *_beside(quantity, group, "difference"),
            Column(f"{quantity}_verdict", "", group=group, prose=True),
            Column(f"{quantity}_sizes", "sizes, this run / other run", shown=False),
        ]
    rows = []
    for paper, experiment, contender in keys:
        row = {"paper": prose(paper), "experiment": prose(experiment), "contender": prose(contender)}
        for quantity in QUANTITIES:
            both = pair.exponents.get((paper, experiment, contender, quantity))
            if both is not None:
                row |= _slopes(quantity, *both)
        rows.append(row)
    return Table(
        title="Exponents",
        sections=(TableSection(columns, rows),),
        notes=[
            "Exponents have no unit, so those of seconds can be compared across machines. They agree if the "
            "95 % interval of their difference contains 0."
        ],
    )


def ratios(pair: PairedRuns, papers: Sequence[str]) -> Table:
    """Build one line per pair of contenders on a problem: their ratio in each run, and the quotient."""
    columns = [*_naming(papers), Column("contenders", "ratio of", prose=True)]
    for quantity in QUANTITIES:
        columns += _beside(quantity, HEADERS[quantity], "change")
    columns.append(Column("verdict", "seconds", prose=True))
    rows = []
    for key in dict.fromkeys(key[:5] for key in pair.ratios if key[0] in papers):
        paper, experiment, n, above, below = key
        row = {
            "paper": prose(paper),
            "experiment": prose(experiment),
            "n": count(n),
            "contenders": prose(f"{above} / {below}"),
        }
        for quantity in QUANTITIES:
            both = pair.ratios.get((*key, quantity))
            if both is not None:
                row[f"{quantity}_{HERE}"], row[f"{quantity}_{THERE}"] = (
                    number(value.value, value) for value in both
                )
                change = ratio_of_ratios(*both)
                row[f"{quantity}_change"] = number(change.value, change)
                if quantity == CPU:
                    word = _compatible(change, at=1.0)
                    row["verdict"] = prose(word, mark=JUDGED.get(word, ""))
        rows.append(row)
    return Table(
        title="Ratios between contenders",
        sections=(TableSection(columns, rows),),
        notes=[
            "Seconds are never compared across runs. Each ratio is of two contenders in one process; the "
            "change is this run's ratio over the other's. They agree if the 95 % interval of the change "
            "contains 1, which fails for one in twenty pairs of runs of the same code.",
            *_clock_note(pair),
        ],
    )


TABLES: Mapping[str, Callable[[PairedRuns, Sequence[str]], Table]] = {
    "claims": claims,
    "measurements": measurements,
    "exponents": exponents,
    "ratios": ratios,
}
"""File name -> function that builds the table."""


def _summary_notes(pair: PairedRuns) -> list[str]:
    faults = pair.outcome.faults
    notes = [
        f"With the other run as its reference, the check would report {plural(len(faults), 'fault')}"
        + (":" if faults else "."),
        *faults[:MOST_NAMED],
    ]
    if len(faults) > MOST_NAMED:
        notes.append(f"and {len(faults) - MOST_NAMED} more")
    for keys, where in zip(pair.alone, ("this run", "the other run"), strict=True):
        if keys:
            named = "; ".join(f"{experiment} n = {n}, {label}" for _, experiment, n, label, _ in keys[:3])
            notes.append(f"{plural(len(keys), 'row')} only in {where}, such as {named}.")
    return notes


def _clock_note(pair: PairedRuns) -> list[str]:
    short = sorted({side.scale for side in (pair.here, pair.there)} & set(SCALES_WITHOUT_CLOCK))
    return [f"Runs of the {short[0]} scale are too short to compare seconds."] if short else []


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
        "verdict": Cell(row.verdict, row.verdict, detail=row.detail, mark=JUDGED.get(row.verdict, "")),
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
    cell = number(ratio.value, ratio, digits=4)
    if ratio.value == 1.0:
        return Cell(1.0, "1", cell.interval, "" if ratio.low == ratio.high else cell.detail)
    if abs(ratio.value - 1.0) < 5e-4:
        off = ratio.value - 1.0
        return Cell(ratio.value, f"1 {'+' if off > 0 else '−'} {significant(abs(off), 2)}", cell.interval)
    return cell


def _slopes(quantity: str, here: Fit, there: Fit) -> dict[str, Cell]:
    difference = _difference(here, there)
    word = _compatible(difference)
    cells = {f"{quantity}_{HERE}": exponent(here.exponent), f"{quantity}_{THERE}": exponent(there.exponent)}
    for side, fit in ((HERE, here), (THERE, there)):
        cell = cells[f"{quantity}_{side}"]
        sizes = f"n = {fit.n_min:,} … {fit.n_max:,}"
        if (here.n_min, here.n_max) != (there.n_min, there.n_max):
            cells[f"{quantity}_{side}"] = Cell(
                cell.value, cell.text, cell.interval, f"{cell.detail}; {sizes}"
            )
    return {
        **cells,
        f"{quantity}_difference": exponent(difference),
        f"{quantity}_verdict": prose(word, mark=JUDGED.get(word, "")),
        f"{quantity}_sizes": prose(" / ".join(f"{fit.n_min}-{fit.n_max}" for fit in (here, there))),
    }


def _difference(here: Fit, there: Fit) -> Interval:
    assert here.exponent is not None and there.exponent is not None
    return here.exponent.minus(there.exponent)


def _compatible(interval: Interval, at: float = 0.0) -> str:
    """Return whether an interval contains the value of no difference; "" without ends."""
    if interval.low is None or interval.high is None:
        return ""
    slack = 1e-9  # exact numbers lose digits in logarithms
    return AGREE if interval.low - slack <= at <= interval.high + slack else DISAGREE


def _interest(here: str, there: str) -> int:
    change = claim_change(here, there)
    return 0 if change == CHANGED else 1 if change == ALONE else 2 if here != UNMEASURED else 3


def _verdict_cell(verdict: str) -> Cell:
    return prose(verdict, mark=MARKS.get(verdict, "")) if verdict else missing("not listed")


def _tally(found: int, word: str) -> Cell:
    mark = "bad" if found and word == DIFFERS else ""
    return Cell(found, f"{found:,}", mark=mark)


def _key(name: str) -> str:
    return name.rpartition(".")[2].replace(" ", "_").replace("%", "percent")


def _fact(name: str) -> Callable[[ComparedRun], str]:
    return lambda side: side.machine.get(name, "")
