"""What a claim measures: each kind of quantity turns results into findings with intervals.

A claim's YAML names a kind and its parameters. The functions here look the numbers up and do not judge them.
A `Finding` without a number carries the reason.

Common parameters: ``experiments`` (a list of names), and for quantities by size ``at``: ``each`` (default),
``largest`` (the largest size at which everything needed was measured) or one size. ``from`` omits smaller
sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from svmrepro.workflow.analysis.intervals import Interval
from svmrepro.workflow.analysis.power_law import fit_power_law
from svmrepro.workflow.analysis.results import Results, SizeRow, display_name
from svmrepro.workflow.analysis.runs import CPU, QUANTITIES, Group
from svmrepro.workflow.judgement import curve_quantities, permutation_quantities
from svmrepro.workflow.judgement.findings import Finding, Spec


def exponent(results: Results, spec: Spec) -> list[Finding]:
    """Exponents of ``contender``, ``of`` cpu_seconds, work, or any numeric column of the measurements."""
    contender, quantity = spec["contender"], spec.get("of", CPU)
    findings = []
    for name in spec["experiments"]:
        found, reason = _exponent(results, name, contender, quantity)
        said = results.numbers.exponent(name, contender) if quantity in QUANTITIES else None
        findings.append(Finding(name, found, reason, said))
    return findings


def exponent_difference(results: Results, spec: Spec) -> list[Finding]:
    """Exponent of ``contender`` minus exponent of ``minus``, with the interval of `Interval.minus`."""
    findings = []
    quantity = spec.get("of", CPU)
    for name in spec["experiments"]:
        parts = [_exponent(results, name, spec[key], quantity) for key in ("contender", "minus")]
        said = [results.numbers.exponent(name, spec[key]) for key in ("contender", "minus")]
        paper = None if said[0] is None or said[1] is None else round(said[0] - said[1], 10)
        first, second = parts[0][0], parts[1][0]
        if first is None or second is None:
            findings.append(Finding(name, None, parts[0][1] or parts[1][1], paper))
        else:
            findings.append(Finding(name, first.minus(second), "", paper))
    return findings


def ratio(results: Results, spec: Spec) -> list[Finding]:
    """Ratio ``above`` / ``below`` of two contenders within one process, ``of`` cpu_seconds or work."""
    above, below, quantity = spec["above"], spec["below"], spec.get("of", CPU)

    def look(name: str, row: SizeRow) -> Finding:
        label, paper = _label(name, row), _paper_ratio(results, name, row, above, below)
        reason = results.why_missing(name, below, row) or results.why_missing(name, above, row)
        if reason:
            return Finding(label, None, reason, paper)
        found = results.ratio(name, row.size, above, below, quantity)
        return Finding(label, found, "" if found else "no pair was measured in one process", paper)

    return _by_size(results, spec, look)


def support_vectors(results: Results, spec: Spec) -> list[Finding]:
    """Relative absolute difference of a count from the paper's; ``which``: nonbound, bound, total."""
    kinds = {"nonbound": ("nonbound",), "bound": ("bound",), "total": ("nonbound", "bound")}[spec["which"]]

    def look(name: str, row: SizeRow) -> Finding:
        label = _label(name, row)
        printed = [results.numbers.support_vectors(name, row.n_paper, kind) for kind in kinds]
        reason = results.why_missing(name, spec["contender"], row)
        if reason:
            return Finding(label, None, reason)
        if any(part is None for part in printed) or not sum(part or 0 for part in printed):
            return Finding(label, None, "not a size of the paper")
        group = results.group(name, spec["contender"], row.n)
        ours = sum(group.median(f"certificate.n_{kind}") or 0.0 for kind in kinds)
        theirs = sum(part or 0 for part in printed)
        return Finding(label, Interval.exact(abs(ours - theirs) / theirs))

    return _by_size(results, spec, look)


def value(results: Results, spec: Spec) -> list[Finding]:
    """Column ``of`` for each of ``contenders``, divided by the sum of the columns ``per``.

    The interval is the range over all certified runs, so that the rule applies to every run.
    """
    divisors: Sequence[str] = spec.get("per", ())

    def look_at(contender: str) -> Callable[[str, SizeRow], Finding]:
        def look(name: str, row: SizeRow) -> Finding:
            label = f"{name}, {display_name(contender)}, n = {row.size:,}"
            reason = results.why_missing(name, contender, row)
            if reason:
                return Finding(label, None, reason)
            values = _values(results.group(name, contender, row.n), spec["of"], divisors)
            if not values:
                return Finding(label, None, f"no run reports {spec['of']}")
            middle = sorted(values)[len(values) // 2]
            return Finding(label, Interval(middle, min(values), max(values)))

        return look

    return [found for label in spec["contenders"] for found in _by_size(results, spec, look_at(label))]


def agreement(results: Results, spec: Spec) -> list[Finding]:
    """Relative absolute difference between two ``contenders`` in a column (or sum of columns) ``of``."""
    first, second = spec["contenders"]
    columns: list[str] = [spec["of"]] if isinstance(spec["of"], str) else spec["of"]

    def look(name: str, row: SizeRow) -> Finding:
        label = _label(name, row)
        reason = results.why_missing(name, first, row) or results.why_missing(name, second, row)
        if reason:
            return Finding(label, None, reason)
        groups = [results.group(name, contender, row.n) for contender in (first, second)]
        medians = [[group.median(column) for column in columns] for group in groups]
        if any(value is None for parts in medians for value in parts):
            return Finding(label, None, f"no run reports {' and '.join(columns)}")
        a, b = (sum(value for value in parts if value is not None) for parts in medians)
        scale = max(abs(a), abs(b))
        return Finding(label, Interval.exact(abs(a - b) / scale if scale else 0.0))

    return _by_size(results, spec, look)


def limit_pattern(results: Results, spec: Spec) -> list[Finding]:
    """1 if ``contender`` exceeds its memory limit exactly where the paper's cell is N/A, else 0."""
    contender = spec["contender"]

    def look(name: str, row: SizeRow) -> Finding:
        label = _label(name, row)
        if row.n_paper is None:
            return Finding(label, None, "not a size of the paper")
        absent = results.numbers.seconds(name, row.n_paper, contender) is None
        said = None if not absent else 1.0
        stopped = _memory_stop(results, name, contender, row)
        if stopped is None:
            return Finding(label, None, results.why_missing(name, contender, row), said)
        return Finding(label, Interval.exact(1.0 if stopped == absent else 0.0), "", said)

    return _by_size(results, spec, look)


KINDS: dict[str, tuple[Callable[[Results, Spec], list[Finding]], frozenset[str], frozenset[str]]] = {
    "exponent": (exponent, frozenset({"contender"}), frozenset({"of"})),
    "exponent-difference": (exponent_difference, frozenset({"contender", "minus"}), frozenset({"of"})),
    "ratio": (ratio, frozenset({"above", "below"}), frozenset({"of", "at", "from"})),
    "support-vectors": (support_vectors, frozenset({"contender", "which"}), frozenset({"at", "from"})),
    "value": (value, frozenset({"of", "contenders"}), frozenset({"per", "at", "from"})),
    "agreement": (agreement, frozenset({"of", "contenders"}), frozenset({"at", "from"})),
    "limit-pattern": (limit_pattern, frozenset({"contender"}), frozenset({"at", "from"})),
    "significant": (
        permutation_quantities.significant,
        frozenset({"contenders", "of", "has", "table"}),
        frozenset({"corrected"}),
    ),
    "mean-ratio": (
        permutation_quantities.mean_ratios,
        frozenset({"above", "below", "of", "table"}),
        frozenset(),
    ),
    "printed-counts": (
        permutation_quantities.printed_counts,
        frozenset({"contender", "which", "table"}),
        frozenset({"slack"}),
    ),
    "curve-exponent": (
        curve_quantities.curve_exponents,
        frozenset({"contender", "x"}),
        curve_quantities.OPTIONAL,
    ),
    "curve-value": (
        curve_quantities.curve_values,
        frozenset({"contender", "x"}),
        curve_quantities.OPTIONAL,
    ),
    "planned-lengths": (
        permutation_quantities.planned_lengths,
        frozenset({"contender"}),
        frozenset({"longer", "shorter"}),
    ),
}
"""Kind -> function, required parameters, optional parameters (besides ``kind`` and ``experiments``)."""


def needs_clock(spec: Spec) -> bool:
    """Whether a quantity rests on measured seconds."""
    timed = {"exponent", "exponent-difference", "ratio", "significant", "mean-ratio"}
    timed |= {"curve-exponent", "curve-value"}
    return spec["kind"] in timed and spec.get("of", CPU) == CPU and "short_of" not in spec


def _exponent(results: Results, name: str, contender: str, quantity: str) -> tuple[Interval | None, str]:
    """Return an exponent and "", or None and the reason."""
    if contender not in results.experiment(name).contenders:
        return None, "not in this experiment"
    fit = results.fit(name, contender, quantity)
    if fit is None:
        fit = fit_power_law(results.runs.series(name, contender, quantity), f"{name}/{contender}/{quantity}")
    if fit.points < 3:
        return None, f"{fit.points} of at least 3 sizes measured"
    return fit.exponent, ""


def _by_size(results: Results, spec: Spec, look: Callable[[str, SizeRow], Finding]) -> list[Finding]:
    """Apply `look` to the sizes selected by ``at`` and ``from``, experiment by experiment."""
    at, smallest = spec.get("at", "each"), spec.get("from", 0)
    findings: list[Finding] = []
    for name in spec["experiments"]:
        rows = [row for row in results.rows(name) if row.n is not None and row.n >= smallest]
        if isinstance(at, int):
            rows = [row for row in rows if row.n == at]
        if not rows:
            size = at if isinstance(at, int) else smallest
            findings.append(Finding(name, None, f"n = {size:,} is not a size of the {results.scale} scale"))
            continue
        found = [look(name, row) for row in rows]
        if at == "largest":
            measured = [finding for finding in found if finding.interval is not None]
            found = (measured or found)[-1:]
        findings += found
    return findings


def _values(group: Group, column: str, divisors: Sequence[str]) -> list[float]:
    """Return a column over the certified runs, divided by the sum of `divisors` if there are any."""
    values = []
    for run in group.solved:
        top = run.number(column)
        bottom = sum(run.number(name) or 0.0 for name in divisors) if divisors else 1.0
        if top is not None and bottom:
            values.append(top / bottom)
    return values


def _paper_ratio(results: Results, name: str, row: SizeRow, above: str, below: str) -> float | None:
    """Return the paper's ratio of seconds, from its timing table or its sparse/non-sparse table."""
    numbers, n = results.numbers, row.n_paper
    top, bottom = numbers.seconds(name, n, above), numbers.seconds(name, n, below)
    if above == f"{below}-dense":
        top, bottom = (numbers.sparse_seconds(name, n, below, form) for form in ("dense", "sparse"))
    elif above.endswith("-dense") and below.endswith("-dense"):
        top, bottom = (
            numbers.sparse_seconds(name, n, label.removesuffix("-dense"), "dense") for label in (above, below)
        )
    return top / bottom if top is not None and bottom else None


def _memory_stop(results: Results, name: str, contender: str, row: SizeRow) -> bool | None:
    """Whether the memory limit stopped a contender at this or a smaller size; None if unknown."""
    for n in sorted(results.runs.sizes(name)):
        group = results.group(name, contender, n)
        if row.n is not None and n <= row.n and any(run.status == "memory_limit" for run in group.runs):
            return True
    return False if results.group(name, contender, row.n).solved else None


def _label(name: str, row: SizeRow) -> str:
    return f"{name}, n = {row.size:,}"
