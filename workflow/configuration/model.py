"""
The configuration: what a run measures, where things lie, read once and handed on as plain frozen records.

A configuration has four layers, later ones winning: ``config/config.yaml`` (the default scale), the file of
the chosen scale (``config/<scale>.yaml``), the command line, and beneath the experiments of each paper its
own file ``config/experiments/<paper>.yaml``. :func:`load_config` merges and checks them; the result is
written as JSON for the steps, which read it back with :func:`read_config` in a few milliseconds.

``config/schema.yaml`` describes the fields; the records tell what is different once the file has been read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.files import atomic_write

# A whole number stays one: keys of measured rows are made of limits as they are written.
Number = int | float


@dataclass(frozen=True)
class Contender:
    """
    One solver with its options, as it takes part in an experiment.

    Attributes
    ----------
    label
        Its name in tables.
    encoding, eps, permutations
        None: the data set's own; the experiment's, or that of the axis; all of them.
    time_limit, memory_limit_mb
        None: no limit.
    iteration_limit
        ``math.inf`` for no limit; None: the solver's own cap.
    """

    label: str
    solver: str
    storage: str = "auto"
    bias: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    time_limit: Number | None = None
    memory_limit_mb: Number | None = None
    permutations: int | None = None
    encoding: str | None = None
    eps: float | None = None
    iteration_limit: Number | None = None


class HeldOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    Examples on which results are judged.

    Attributes
    ----------
    dataset
        None: the test part of the experiment's own.
    rows
        None: all.
    """

    dataset: str | None = None
    skip: Annotated[int, msgspec.Meta(ge=0)] = 0
    rows: Annotated[int, msgspec.Meta(ge=1)] | None = None


@dataclass(frozen=True)
class Experiment:
    """
    One problem at several sizes, and who competes on it.

    Attributes
    ----------
    C, C_total
        One of them is None.
    sizes
        Training rows, ascending, counted in the files.
    paper_sizes
        The paper's own count for those of ``sizes`` that the paper has.
    seeds
        ``(None,)`` for a downloaded set; of an experiment with permutations their numbers.
    repeat_budget
        None: no limit.
    permutations
        None: the data set's own order. A generated set is else that of seed 0.
    axis, points
        ``"C"``, ``"C_total"`` or ``"eps"`` and its values, from the easiest to the hardest. None, and no
        points, without.
    test
        None without measures.
    """

    name: str
    paper: str
    title: str
    dataset: str
    kernel: dict[str, Any]
    C: float | None
    C_total: float | None
    bias: bool
    eps: float
    sizes: tuple[int, ...]
    paper_sizes: dict[int, int]
    seeds: tuple[int | None, ...]
    repeats: int
    repeat_budget: Number | None
    contenders: dict[str, Contender]
    permutations: int | None = None
    axis: str | None = None
    points: tuple[float, ...] = ()
    measures: tuple[str, ...] = ()
    test: HeldOut | None = None

    def seeds_of(self, contender: Contender) -> tuple[int | None, ...]:
        """Return the seeds, or the permutations, in which a contender takes part."""
        return self.seeds if contender.permutations is None else self.seeds[: contender.permutations]

    def bound(self, n: int, point: float | None = None) -> float:
        """
        Give the bound of each multiplier in (P1).

        Parameters
        ----------
        n
            Training rows.
        point
            A value on the axis, if there is one.

        Returns
        -------
        float
            C, or C_total / n where the experiment fixes that.
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
        """Return eps, which is the value on the axis if that is its axis."""
        return point if point is not None and self.axis == "eps" else self.eps

    def on_axis(self, contender: Contender) -> bool:
        """Tell whether the axis changes what a contender does: not eps, for one that has its own."""
        return self.axis is not None and not (self.axis == "eps" and contender.eps is not None)

    def points_of(self, contender: Contender) -> tuple[float | None, ...]:
        """Return the points at which a contender is measured; None stands for all of them at once."""
        return self.points if self.on_axis(contender) else (None,)

    def harder(self, place: tuple[int, float | None], other: tuple[int, float | None]) -> bool:
        """
        Tell whether a problem takes at least as long as another one: a limit passed there is passed here too.

        Parameters
        ----------
        place, other
            Size and point of each.

        Returns
        -------
        bool
            Whether neither size nor point is easier; True if they are the same.
        """
        (n, point), (m, base) = place, other
        if point is None or base is None:
            return n >= m
        return n >= m and (point <= base if self.axis == "eps" else point >= base)


@dataclass(frozen=True)
class Artefact:
    """
    One table or figure of a paper.

    Attributes
    ----------
    kind
        What makes it (timing, loglog, sparse, scaling, ...).
    form
        ``"table"`` or ``"figure"``.
    experiments
        The experiments it shows: those it names, else all of the paper's.
    settings
        Every further key of its entry.
    single
        Whether it is about one experiment by its nature, and not because a scale has one alone.
    """

    name: str
    kind: str
    form: str
    experiments: tuple[str, ...]
    title: str
    caption: str
    settings: dict[str, Any] = field(default_factory=dict)
    single: bool = False

    @property
    def measured(self) -> bool:
        """Whether it is made of measurements, not of a data set or of a small example run on the spot."""
        return not self.settings.keys() & {"dataset", "example"}


@dataclass(frozen=True)
class Paper:
    """
    A paper's experiments and artefacts.

    Attributes
    ----------
    left_out
        Experiments of its file that this configuration takes out.
    """

    name: str
    title: str
    experiments: dict[str, Experiment]
    artefacts: dict[str, Artefact]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Config:
    """
    Everything a run needs to know.

    Attributes
    ----------
    data_dir, results_dir, figures_dir
        Folders, without the scale.
    mirror, against
        None: there is none.
    datasets
        A user's own files: name to path.
    """

    scale: str
    data_dir: Path
    results_dir: Path
    figures_dir: Path
    mirror: str | None
    require_data: bool
    timed_jobs: int
    job: str
    repeats: int
    datasets: dict[str, str]
    papers: dict[str, Paper]
    against: str | None = None
    require_complete: bool = False

    def experiment(self, paper: str, name: str) -> Experiment:
        """
        Look an experiment up.

        Raises
        ------
        StepError
            If the configuration has no such paper or experiment.
        """
        try:
            return self.papers[paper].experiments[name]
        except KeyError:
            raise StepError(f"no experiment {name!r} of paper {paper!r} in the configuration") from None


def config_dir() -> Path:
    """Return the project's folder ``config/``."""
    return Path(__file__).resolve().parent.parent.parent / "config"


def load_config(overrides: Mapping[str, Any] | None = None, folder: Path | None = None) -> Config:
    """
    Read, merge and check the configuration.

    Parameters
    ----------
    overrides
        Settings of the command line, as nested as the files; ``scale`` picks the scale's file.
    folder
        The folder ``config/``; the project's own if None.

    Returns
    -------
    Config
        Checked throughout: data sets, solvers, options, kernels and sizes exist.

    Raises
    ------
    StepError
        For the first fault found: file, key and what is wrong, in one line.
    """
    # It needs data sets and solvers, which take a second to import: steps read the result.
    from svmrepro.workflow.configuration.resolve import load

    return load(overrides or {}, folder or config_dir())


def dump_config(config: Config) -> str:
    """Return a configuration as the text that :func:`write_config` writes."""
    return json.dumps(msgspec.to_builtins(config, enc_hook=str)) + "\n"


def write_config(config: Config, path: Path) -> None:
    """Write a configuration for the steps, as JSON."""
    atomic_write(path, dump_config(config))


def read_config(path: str | os.PathLike[str]) -> Config:
    """
    Read what :func:`write_config` wrote.

    Raises
    ------
    StepError
        If it cannot be read.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        # JSON knows no whole numbers as keys, and msgspec's own reader no infinity.
        return msgspec.convert(content, Config, str_keys=True, dec_hook=lambda kind, text: kind(text))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise StepError(f"{path}: is no resolved configuration ({error})") from error
