"""The configuration as frozen records: what a run measures, and where its files are.

A configuration is merged from ``config/config.yaml`` (the default scale), the file of the chosen scale
(``config/<scale>.yaml``) and the command line, in this order; later layers win. The result is merged over
each paper's ``config/experiments/<paper>.yaml``. `loading` merges and checks everything. The steps read the
result from a JSON file with :func:`read_config`, in a few milliseconds.

``config/keys.yaml`` describes the fields; the records note what differs after reading.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from svmrepro.workflow.errors import StepError

#: The folder of the project's files: the clone, or the installed package.
ROOT = Path(__file__).resolve().parent.parent.parent

# Integers stay integers, as they are written: limits enter the keys of measured rows.
Number = int | float

#: Version of how time is measured (docs/timing.md). Raise it when seconds from before and after the change
#: must not be compared; all rows are then measured again. Lines without a version are of version 1.
PROTOCOL = 1

#: Settings, nested as in the files, with the name of their source for messages.
Layer = tuple[str, Mapping[str, Any]]

#: The source of the command line's settings.
COMMAND_LINE = "--config"

#: The scale whose settings are config.yaml itself.
DEFAULT_SCALE = "default"

#: Name of a bench as a paper.
BENCH = "bench"

#: Files of the folder that are not scales, and a name reserved in the results folder.
_NO_SCALES = frozenset({"config", "keys", "reference"})


def protocol_of(pin: bool | tuple[int, ...], shuffle: int | None) -> str:
    """Name the protocol of timing: the version, and the settings that affect seconds."""
    settings = ["pinned"] * (pin is not False) + ["random order"] * (shuffle is not None)
    return ", ".join([str(PROTOCOL), *settings])


@dataclass(frozen=True)
class Contender:
    """A solver with its options, as it takes part in an experiment."""

    label: str  # its name in tables
    solver: str
    storage: str = "auto"
    bias: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    time_limit: Number | None = None
    memory_limit_mb: Number | None = None
    permutations: int | None = None  # None: all
    encoding: str | None = None  # None: the data set's own
    eps: float | None = None  # None: the experiment's, or the axis's
    iteration_limit: Number | None = None  # math.inf for no limit; None: the solver's own cap
    warm: bool = False  # solves a grid with warm starts
    nested: bool = True  # takes part at the sizes between the paper's
    largest: int | None = None  # size up to which it takes part; None: all

    @property
    def threads(self) -> int:
        """Number of threads that it asks for; 1 if a user's own solver means something else by the option."""
        threads = self.options.get("threads", 1)
        return threads if isinstance(threads, int) else 1


class HeldOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Examples on which results are evaluated."""

    dataset: str | None = None  # None: the test part of the experiment's data set
    skip: Annotated[int, msgspec.Meta(ge=0)] = 0
    rows: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Quantity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a curve shows, see :mod:`svmrepro.workflow.analysis.curves`."""

    of: str = "cpu_seconds"
    minus: str | None = None
    minus_at: Number | None = None
    over: str | None = None
    over_at: Number | None = None
    short_of: str | None = None
    best: bool = False

    @property
    def rival(self) -> str | None:
        """The contender compared with; None: another value of its own, or nothing."""
        return self.minus or self.over or self.short_of

    @property
    def divides(self) -> bool:
        """Whether it is a quotient."""
        return self.over is not None or self.over_at is not None


@dataclass(frozen=True)
class Grid:
    """Values of C and gamma, ascending; a run solves the problems of all combinations."""

    C: tuple[float, ...]
    gamma: tuple[float, ...]


@dataclass(frozen=True)
class Experiment:
    """A problem at several sizes, and the contenders that solve it."""

    name: str
    paper: str
    title: str
    dataset: str
    kernel: dict[str, Any]
    C: float | None  # either C or C_total is set
    C_total: float | None
    eps: float
    sizes: tuple[int, ...]  # numbers of training rows in the files, ascending
    paper_sizes: dict[int, int]  # the paper's own counts, for the sizes that occur in the paper
    # Seeds, or numbers of the permutations; (None,) for a downloaded set without permutations.
    seeds: tuple[int | None, ...]
    repeats: int
    repeat_budget: Number | None
    contenders: dict[str, Contender]
    # None: the data set's own order. The examples of a generated set with permutations are those of seed 0,
    # unless each permutation has a sample of its own.
    permutations: int | None = None
    resample: bool = False
    axis: str | None = None  # C, C_total or eps
    points: tuple[float, ...] = ()  # the values of the axis, from the easiest to the hardest
    measures: tuple[str, ...] = ()
    test: HeldOut | None = None  # None if there are no measures
    grid: Grid | None = None  # C and the kernel are then those of its last cell
    trace: bool = False  # records the objective against time
    nested: tuple[int, ...] = ()  # those of the sizes that lie between the paper's, for narrower intervals
    stand_in_for: str = ""  # the paper's data, if these stand in for them
    protocol: str = "1"  # of timing, see `protocol_of`

    def seeds_of(self, contender: Contender) -> tuple[int | None, ...]:
        """Return the seeds, or permutations, in which a contender takes part."""
        return self.seeds if contender.permutations is None else self.seeds[: contender.permutations]

    def sizes_of(self, contender: Contender) -> tuple[int, ...]:
        """Return the sizes at which a contender takes part."""
        left_out = () if contender.nested else self.nested
        largest = math.inf if contender.largest is None else contender.largest
        return tuple(n for n in self.sizes if n <= largest and n not in left_out)

    def bound(self, n: int, point: float | None = None) -> float:
        """Return the upper bound of each multiplier in (P1) for n training rows: C, or C_total / n.

        A ``point`` is the value on the axis, if that is C or C_total.
        """
        if point is not None and self.axis == "C":
            return point
        if point is not None and self.axis == "C_total":
            return point / n
        if self.C is not None:
            return self.C
        assert self.C_total is not None
        return self.C_total / n

    def tolerance(self, point: float | None = None) -> float:
        """Return eps, which is the value on the axis if the axis is eps."""
        return point if point is not None and self.axis == "eps" else self.eps

    def points_of(self, contender: Contender) -> tuple[float | None, ...]:
        """Return the points at which a contender is measured; None stands for all points at once.

        The axis eps does not affect a contender that has its own.
        """
        affected = self.axis is not None and not (self.axis == "eps" and contender.eps is not None)
        return self.points if affected else (None,)

    def harder(self, place: tuple[int, float | None], other: tuple[int, float | None]) -> bool:
        """Tell whether a problem, given by size and point, takes at least as long as another.

        A limit met there is then met here too. True if neither size nor point is easier.
        """
        (n, point), (m, base) = place, other
        if point is None or base is None:
            return n >= m
        return n >= m and (point <= base if self.axis == "eps" else point >= base)


@dataclass(frozen=True)
class Artefact:
    """A table or figure of a paper."""

    name: str
    kind: str  # timing, loglog, sparse, scaling, ...
    form: str  # table or figure
    experiments: tuple[str, ...]  # those that it shows
    title: str
    caption: str
    settings: dict[str, Any] = field(default_factory=dict)  # all other keys of its entry
    single: bool = False  # shows one experiment by definition, not because the scale has only one
    left_out: tuple[str, ...] = ()  # experiments that its entry names and this configuration removes

    @property
    def measured(self) -> bool:
        """Whether it is made from measurements, not from a data set, a small example or listed texts."""
        return not self.settings.keys() & {"dataset", "example", "deviations"}


@dataclass(frozen=True)
class Paper:
    """A paper's experiments and artefacts."""

    name: str
    title: str
    experiments: dict[str, Experiment]
    artefacts: dict[str, Artefact]
    # Experiments of its file that this configuration removes, with their titles there.
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def claims(self) -> list[str]:
        """The names of its tables of claims."""
        return [each.name for each in self.artefacts.values() if each.kind == "claims"]

    @property
    def is_bench(self) -> bool:
        """Whether it is the user's own comparison of solvers, which has no scales."""
        return self.name == BENCH


@dataclass(frozen=True)
class OwnFile:
    """A user's own data set."""

    path: str
    format: Literal["libsvm", "csv", "npz"] | None = None  # None: by the suffix
    labels: tuple[tuple[float | str, float], ...] = ((-1.0, -1.0), (1.0, 1.0))  # label in the file, sign
    label: str = "last"  # column of the labels in a table
    features: int | None = None
    test: str | None = None


@dataclass(frozen=True)
class Config:
    """The complete configuration of a run; its folders are those without the scale's subfolder."""

    scale: str
    data_dir: Path
    results_dir: Path
    figures_dir: Path
    mirror: str | None
    require_data: bool
    timed_jobs: int
    job: str
    datasets: dict[str, OwnFile]
    papers: dict[str, Paper]
    against: str | None = None
    require_complete: bool = False
    pin: bool | tuple[int, ...] = False  # processors, one for each timed job; True: any
    shuffle: int | None = None  # seed of the order of the contenders; None: they take turns
    count_instructions: bool = False
    partial: bool = False  # only some papers of its scale, by a setting of this command
    folder: Path | None = None  # the folder ``config/``; None: the project's own

    @property
    def experiments(self) -> list[Experiment]:
        """The experiments of all papers."""
        return [each for paper in self.papers.values() for each in paper.experiments.values()]

    def described(self, what: str, paper: str) -> Path:
        """Return the folder ``papers`` or ``claims``: this configuration's if it has the paper's files."""
        own = (self.folder or config_dir()) / what
        return own if any(own.glob(f"{paper}[._]*")) else config_dir() / what

    def own_files(self, dataset: str) -> list[str]:
        """Return the files of a user's own data set; none for any other."""
        own = self.datasets.get(dataset)
        return [] if own is None else [own.path, *filter(None, [own.test])]

    def experiment(self, paper: str, name: str) -> Experiment:
        """Look up an experiment; one that the configuration lacks raises a StepError."""
        try:
            return self.papers[paper].experiments[name]
        except KeyError:
            raise StepError(f"no experiment {name!r} of paper {paper!r} in the configuration") from None


def config_dir() -> Path:
    """Return the project's folder ``config/``."""
    return ROOT / "config"


def scales(folder: Path | None = None) -> set[str]:
    """Return the names of the scales in a folder ``config/``; None for the project's own."""
    files = (folder or config_dir()).glob("*.yaml")
    return {DEFAULT_SCALE, *(path.stem for path in files)} - _NO_SCALES


def home() -> Path:
    """Return the root of the clone; the current folder if the package is installed without one."""
    return ROOT if (ROOT / "pyproject.toml").is_file() else Path.cwd()


def as_called(text: str) -> str:
    """Return a text with its commands as they can be called: without a clone, there is no ``./run``."""
    if home() == ROOT:
        return text
    for program in ("pip", "pytest"):
        text = text.replace(f"./run {program} ", f"{program} ")
    return text.replace("./run", "svmrepro")


def scale_option(scale: str) -> str:
    """Return the option of a further command for a scale, after a blank; "" for the default scale."""
    return "" if scale == DEFAULT_SCALE else f" --scale {scale}"


def dump_config(config: Config) -> str:
    """Return a configuration as the JSON text from which the steps read it."""
    return json.dumps(msgspec.to_builtins(config, enc_hook=str)) + "\n"


def read_config(path: str | os.PathLike[str]) -> Config:
    """Read the text of :func:`dump_config` from a file; one that cannot be read raises a StepError."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        # JSON has no integer keys, and msgspec's reader no infinity.
        return msgspec.convert(content, Config, str_keys=True, dec_hook=lambda kind, text: kind(text))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise StepError(f"{path}: is not a resolved configuration ({error})") from error
