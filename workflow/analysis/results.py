"""Everything that tables, figures and claims use: measured runs, fits, ratios and the paper's numbers.

`Results` joins them, so that builders need no knowledge of files. Sizes are those of today's files.
`Results.paper_size` gives the paper's size where it differs (the paper's 11,221 is 11,220 here): rows are
joined by file, not by n.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from svmrepro.workflow.analysis.fits import MEASURED, read_fits, read_ratios
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.analysis.run_pairs import flagged_sides, pairs
from svmrepro.workflow.analysis.runs import NO_DATA, NOT_INSTALLED, Conditions, Group, MeasuredRun, Runs
from svmrepro.workflow.configuration import as_called, paths
from svmrepro.workflow.configuration.model import Config, Experiment, Paper
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.statistics import FEWEST_SIZES, Fit, Interval
from svmrepro.workflow.surroundings.flagged_runs import STEAL

ACRONYMS = {
    "smo": "SMO",
    "smo2": "SMO2",
    "smo-newton": "SMO-Newton",
    "pasmo": "PA-SMO",
    "csmo": "CSMO",
    "chunking": "Chunking",
    "svmlight": "SVM-light",
    "svmperf": "SVM-perf",
    "csr": "CSR",
    "lsvm": "LSVM",
    "ocas": "OCAS",
    "l2svm": "L2-SVM",
    "l2svm-mfn": "L2-SVM-MFN",
    "libsvm": "LIBSVM",
    "liblinear": "LIBLINEAR",
    "onedal": "oneDAL",
    "thundersvm": "ThunderSVM",
}
"""First words of labels that are names, with their spelling; other labels are just capitalised."""

VARIANTS = {
    "face": "free rows",
    "bends": "past the bounds",
    "lengths": "lengths counted",
    "multicore": "multi-core",
    "longer": "longer steps",
    "longer selection": "longer steps and selection",
}
"""Words after the solver's name in a label -> what tables show in their place."""

STORAGES = ("bits", "dense", "csr", "index")
"""Last words of labels that name the storage of the data."""


@dataclass(frozen=True)
class SizeRow:
    """One size of one experiment: `n` as measured and `n_paper` as printed; either may be None."""

    n: int | None
    n_paper: int | None

    @property
    def size(self) -> int:
        """The size to display: the measured one, or the paper's if nothing was measured."""
        chosen = self.n if self.n is not None else self.n_paper
        assert chosen is not None
        return chosen


@dataclass(frozen=True)
class Results:
    """Everything known about the experiments of one paper at one scale."""

    config: Config
    paper: Paper
    runs: Runs
    fits: Mapping[tuple[str, str, str, str], Fit]
    ratios: Mapping[tuple[str, int, str, str, str], Interval]
    numbers: PaperNumbers

    @property
    def scale(self) -> str:
        """Name of the scale."""
        return self.config.scale

    def experiment(self, name: str) -> Experiment:
        """Return an experiment's description."""
        return self.paper.experiments[name]

    def rows(self, experiment: str) -> list[SizeRow]:
        """Return the sizes to display, ascending: the configured ones and those that only the paper has."""
        known = self.experiment(experiment)
        ours = dict.fromkeys((*known.sizes, *self.runs.sizes(experiment)))
        rows = [SizeRow(n, self.paper_size(experiment, n)) for n in ours]
        shown = {row.n_paper for row in rows}
        rows += [SizeRow(None, n) for n in self.numbers.sizes(experiment) if n not in shown]
        return sorted(rows, key=lambda row: row.size)

    def own_rows(self, experiment: str) -> list[SizeRow]:
        """Return :meth:`rows` without the sizes that lie between the paper's own."""
        return [row for row in self.rows(experiment) if row.n not in self.experiment(experiment).nested]

    def paper_size(self, experiment: str, n: int) -> int | None:
        """Return the paper's size of a problem with n examples today; None if the paper has no such row."""
        mapped = self.experiment(experiment).paper_sizes.get(n, n)
        return mapped if mapped in self.numbers.sizes(experiment) else None

    def group(self, experiment: str, contender: str, n: int | None, point: float | None = None) -> Group:
        """Return the runs of a contender at one size, and at one point of the axis if given."""
        if n is None:
            return Group(())
        group = self.runs.group(experiment, contender, n, point)
        known = self.paper.experiments.get(experiment)
        described = known.contenders.get(contender) if known else None
        largest = described.largest if described else None
        if not group.runs and largest is not None and n > largest:
            return replace(group, absent=f"takes part up to n = {largest:,}")
        return group

    def largest_solved(self, experiment: str, contender: str) -> int | None:
        """Return the largest size that a contender solved; None if it solved none."""
        sizes = self.runs.sizes(experiment)
        return max((n for n in sizes if self.group(experiment, contender, n).solved), default=None)

    def timed_groups(self, experiment: str) -> list[Group]:
        """Return the runs of each contender, at each size and point of the axis, that have seconds."""
        groups = [
            self.group(experiment, contender, n, point)
            for contender in self.runs.contenders(experiment)
            for n in self.runs.sizes(experiment)
            for point in self.runs.points(experiment) or (None,)
        ]
        return [group for group in groups if group.timed]

    def all_runs_flagged(self, experiment: str) -> bool:
        """Whether all seconds of an experiment, of every contender and size, come from flagged runs only."""
        return all(group.all_flagged for group in self.timed_groups(experiment))

    def why_missing(self, experiment: str, contender: str, row: SizeRow, point: float | None = None) -> str:
        """Return why a contender has no number at a size, and point of the axis; "" if it has one."""
        if experiment not in self.paper.experiments:
            return f"not run: not part of the {self.scale} scale"
        if contender not in self.experiment(experiment).contenders:
            return "not run: not in this experiment"
        if row.n is None:
            return f"not run: not a size of the {self.scale} scale"
        return self.group(experiment, contender, row.n, point).reason

    def why_any_missing(self, experiment: str, contenders: Iterable[str], row: SizeRow) -> str:
        """Return why one of some contenders has no number at a size; "" if all have one."""
        reasons = (self.why_missing(experiment, contender, row) for contender in contenders)
        return next(filter(None, reasons), "")

    def fit(self, experiment: str, contender: str, quantity: str, source: str = MEASURED) -> Fit | None:
        """Return a fitted power law; None if ``fits.csv`` has no such line."""
        return self.fits.get((experiment, contender, quantity, source))

    def ratio(self, experiment: str, n: int, above: str, below: str, quantity: str) -> Interval | None:
        """Return the ratio of two contenders at one size, in either order; None if no pair was measured."""
        found = self.ratios.get((experiment, n, above, below, quantity))
        inverse = self.ratios.get((experiment, n, below, above, quantity))
        if found is not None or inverse is None:
            return found
        if inverse.ends is None:
            return Interval(1 / inverse.value)
        low, high = inverse.ends
        return Interval(1 / inverse.value, 1 / high, 1 / low)

    def shown_exponent(
        self, experiment: str, contender: str, quantity: str, source: str = MEASURED
    ) -> Interval | None:
        """Return the exponent of a fit to at least `FEWEST_SIZES` sizes, fit for a table or figure."""
        fit = self.fit(experiment, contender, quantity, source)
        return None if fit is None or fit.points < FEWEST_SIZES else fit.exponent

    def ratio_values(self, experiment: str, n: int, above: str, below: str, quantity: str) -> list[float]:
        """Return the single ratios of which :meth:`ratio` is the median."""
        first, second = (self.group(experiment, label, n) for label in (above, below))
        return [a / b for a, b in zip(*pairs(first, second, quantity, anywhere=True), strict=True)]

    def ratio_flagged(self, experiment: str, n: int, above: str, below: str) -> bool:
        """Whether a ratio of seconds rests on flagged runs alone, of an experiment that has others."""
        flagged = flagged_sides(*(self.group(experiment, label, n) for label in (above, below)))
        return any(flagged) and not self.all_runs_flagged(experiment)

    def compared(self, experiment: str) -> tuple[str, ...]:
        """Return the contenders of an experiment that the paper times, in the order of the YAML."""
        contenders = self.experiment(experiment).contenders
        return tuple(label for label in contenders if self.numbers.prints_seconds_of(experiment, label))

    def main(self, experiment: str) -> tuple[str, ...]:
        """Return the main contenders of an experiment: those that the paper times, else the first two."""
        return self.compared(experiment) or tuple(self.experiment(experiment).contenders)[:2]

    def shared(self, experiments: Iterable[str]) -> list[str]:
        """Return the experiments that the paper times as well, or all if it times none."""
        names = list(experiments)
        return [name for name in names if self.compared(name)] or names

    def provenance(self) -> str:
        """Describe the origin of the numbers: scale, date, machine, commit, numbers of runs and flags.

        Other hardware, mixed versions of solvers, missing data and missing packages follow, if there are any.
        """
        measured = [run for run in self.runs.runs if run.number("cpu_seconds") is not None]
        parts = [self.paper.title]
        if not self.paper.is_bench:
            parts.append(f"{self.scale} scale")
        if measured:
            parts.append(f"last measured {max(run.fields.get('time', '') for run in measured)[:10]}")
            models = Counter(model for run in measured if (model := run.fields.get("machine.cpu")))
            parts += [" and ".join(model for model, _ in models.most_common())] if models else []
            commits = {run.fields.get("machine.commit", "") for run in measured} - {""}
            if commits:
                parts.append("commit " + ", ".join(sorted({short_commit(commit) for commit in commits})))
        flagged = sum(run.flagged for run in measured)
        if self.runs.runs:
            parts.append(f"{plural(len(measured), 'measurement')}, {flagged:,} flagged for other load")
        parts += self._noise(measured)
        said = ["; ".join(parts) + "."]
        if conditions := self._other_conditions():
            said.append(
                f"Seconds, ratios and exponents use runs {self._shared()} only; counts use all runs: "
                + "; ".join(conditions)
                + "."
            )
        if mixed := self._mixed_versions(measured):
            said.append(f"Measured with several versions of their code: {', '.join(mixed)}.")
        not_run = [run.fields.get("reason", "") for run in self.runs.runs if run.status == "not_run"]
        lacking = dict.fromkeys(reason for reason in not_run if NO_DATA.match(reason))
        said += [f"{reason[0].upper()}{reason[1:]}." for reason in lacking]
        if packages := {found[1] for reason in not_run if (found := NOT_INSTALLED.match(reason))}:
            names = " ".join(sorted(packages))
            command = as_called(f"./run pip install {names}")
            said.append(f"To measure solvers that are not installed: {command}.")
        return " ".join(said)

    def _shared(self) -> str:
        """Name the conditions that select the runs whose seconds count; "" if all runs share them."""
        solved = [run for run in self.runs.runs if run.solved]
        shared = []
        if len({run.hardware for run in solved}) > 1:
            shared.append("on one kind of hardware")
        if len({run.protocol for run in solved}) > 1:
            shared.append("by one timing protocol")
        return " and ".join(shared)

    def _noise(self, measured: Sequence[MeasuredRun]) -> list[str]:
        """Describe recorded disturbances of the seconds, and protocols of timing other than the first."""
        shares = [share for run in measured if (share := run.number("noise.steal")) is not None]
        said = []
        if taken := [share for share in shares if share > STEAL]:
            said.append(f"in {len(taken)} the hypervisor took more than {100 * STEAL:.0f} % of the time")
        protocols = sorted({run.protocol for run in measured} - {"1"})
        if protocols and not self.runs.timing_conditions:
            said.append("timing protocol " + " and ".join(protocols))
        return said

    def _mixed_versions(self, measured: Sequence[MeasuredRun]) -> list[str]:
        """Name the solvers, with the experiment, whose runs have several fingerprints of their code."""
        found: dict[tuple[str, str], set[str]] = {}
        for run in measured:
            place = run.fields.get("solver", ""), run.experiment
            found.setdefault(place, set()).add(run.fields.get("fingerprint", ""))
        return [f"{solver} ({name})" for (solver, name), prints in found.items() if len(prints) > 1]

    def _other_conditions(self) -> list[str]:
        """Describe, by experiment, which runs contribute no seconds: other hardware or protocol of timing."""
        said = []
        for name, chosen in sorted(self.runs.timing_conditions.items()):
            kinds = Counter(run.conditions for run in self.runs.runs if run.experiment == name and run.solved)
            others = [
                f"{plural(count, 'run')} on {_told(kind)}" for kind, count in kinds.items() if kind != chosen
            ]
            if others:
                said.append(f"{name} on {_told(chosen)}, without {' and '.join(others)}")
        return said


_Read = TypeVar("_Read")


def _once(read: Callable[[Path], _Read]) -> Callable[[Path], _Read]:
    """Return a reader that reads a file again only if it was replaced; callers share what it returns.

    A step makes many tables and figures from the same files. The cache holds about as many as one paper has.
    """

    @lru_cache(64)
    def kept(path: Path, version: tuple[int, ...]) -> _Read:
        return read(path)

    def reader(path: Path) -> _Read:
        if not path.is_file():
            return read(path)  # for its error
        found = path.stat()
        return kept(path, (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size))

    return reader


_runs = _once(lambda path: read_runs([path]).runs)
_fits = _once(lambda path: read_fits([path]))
_ratios = _once(lambda path: read_ratios([path]))


def runs_of(files: Iterable[Path]) -> Runs:
    """Read ``measurements.csv`` files as `read_runs` does, each only once."""
    return Runs(tuple(run for path in files for run in _runs(path)))


def load(config: Config, paper: str, experiments: Iterable[str]) -> Results:
    """Read the measurements and fits of some experiments of a paper."""
    names = list(experiments)
    return Results(
        config=config,
        paper=config.papers[paper],
        runs=runs_of(paths.measurements(config, paper, name) for name in names),
        fits={key: fit for name in names for key, fit in _fits(paths.fits(config, paper, name)).items()},
        ratios={
            key: ratio for name in names for key, ratio in _ratios(paths.ratios(config, paper, name)).items()
        },
        numbers=PaperNumbers(config.described("papers", paper), paper),
    )


def short_commit(commit: str) -> str:
    """Return an abbreviated commit hash, with the mark of a modified checkout."""
    return commit[:10] + ("+" if commit.endswith("+") else "")


def display_name(label: str) -> str:
    """Return the display name of a contender's label.

    smo-bits is "SMO, bits", smo-fixed-threshold "SMO, fixed threshold", violating-pair-bits
    "Violating pair, bits", smo-unfolded-no-cache "SMO, unfolded, no cache", pasmo-5 "PA-SMO, 5 working sets".
    """
    words = re.split(r"(?<!\de)-", label)  # not at the sign of 1e-3
    storage = [words.pop()] if len(words) > 1 and words[-1] in STORAGES else []
    if "-".join(words[:2]) in ACRONYMS:
        words[:2] = ["-".join(words[:2])]
    if words[0] in ACRONYMS:  # a known solver, then its variant
        variant = " ".join(words[1:]).replace(" no ", ", no ")
        variant = f"{variant} working sets" if variant.isdigit() else VARIANTS.get(variant, variant)
        name = ", ".join(filter(None, [ACRONYMS[words[0]], variant]))
    else:
        name = " ".join(words)
        # A user's own solver is named as its module is.
        name = name if "." in name else name[:1].upper() + name[1:]
    return ", ".join([name, *(ACRONYMS.get(word, word) for word in storage)])


def describe_kernel(experiment: Experiment) -> tuple[str, list[str]]:
    """Return the name of an experiment's kernel and its parameters: Gaussian, with ["σ² = 10"]."""
    kernel = dict(experiment.kernel)
    name = str(kernel.pop("name"))
    shown = {"gaussian": "Gaussian"}.get(name, name)
    symbols = {"sigma2": "σ²", "gamma": "γ"}
    return shown, [f"{symbols.get(key, key)} = {value:g}" for key, value in kernel.items()]


def describe_problem(experiment: Experiment) -> str:
    """Describe an experiment's problem in one line: data set, whether it is a stand-in, kernel, C."""
    name, settings = describe_kernel(experiment)
    shown = f"{name} kernel" + (f" ({', '.join(settings)})" if settings else "")
    bound = f"C = {experiment.C:g}" if experiment.C is not None else f"C = {experiment.C_total:g} / n"
    if experiment.axis is not None:
        bound += f", {experiment.axis} varied"
    encodings = {contender.encoding for contender in experiment.contenders.values()}
    encoding = encodings.pop() if len(encodings) == 1 else None
    data = f"{experiment.dataset} (stand-in)" if experiment.stand_in_for else experiment.dataset
    return f"Data set {data}{f', {encoding}' if encoding else ''}, {shown}, {bound}"


def _told(conditions: Conditions) -> str:
    hardware, protocol = conditions
    named = "" if protocol == "1" else f", timing protocol {protocol}"
    return f"[{hardware or 'unknown hardware'}{named}]"
