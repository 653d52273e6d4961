"""From experiments to work: instances, and the jobs that measure them.

An instance is an experiment at one size and one seed or permutation. All its contenders run side by side. In
the journal it is a ``row``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration.model import Config, Contender, Experiment
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.fingerprints import digest

#: Fewest permutations of a job, unless an experiment has fewer.
BLOCK = 10
#: Most jobs of a size that has permutations, by the setting ``job``. Mean seconds vary from one process to
#: another, by more than some sets' solvers differ: four processes halve that. More than a hundred would cost
#: time, because every job reads the whole journal of its experiment.
MOST_BLOCKS = {"experiment": 4, "size": 100}


@dataclass(frozen=True)
class Instance:
    """An experiment at one size and one seed or permutation. All contenders run on it side by side."""

    experiment: Experiment
    n: int
    seed: int | None  # of a generated data set, or number of the permutation
    # Value on the experiment's axis. None without one, and for contenders that the axis does not affect.
    point: float | None = None

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """The contenders that run on this instance."""
        experiment = self.experiment
        return tuple(
            contender
            for contender in experiment.contenders.values()
            if self.n in experiment.sizes_of(contender)
            and self.seed in experiment.seeds_of(contender)
            and self.point in experiment.points_of(contender)
        )

    @property
    def permutation(self) -> int | None:
        """Number of the permutation; None for the data set's own order."""
        return None if self.experiment.permutations is None else self.seed

    @property
    def sample(self) -> int:
        """Seed of the examples; only generated data sets use it."""
        one = self.experiment.permutations is not None and not self.experiment.resample
        return 0 if one else self.seed or 0

    @property
    def C(self) -> float:
        """Upper bound of each multiplier."""
        return self.experiment.bound(self.n, self.point)

    @property
    def eps(self) -> float:
        """Stopping tolerance."""
        return self.experiment.tolerance(self.point)

    @property
    def problem(self) -> dict[str, Any]:
        """What a measurement records of the problem, whoever solves it."""
        experiment = self.experiment
        return {
            "dataset": experiment.dataset,
            "kernel": experiment.kernel,
            "axis": experiment.axis,
            "C": self.C,
        }

    def settings(self, contender: Contender) -> dict[str, Any]:
        """Return what a measurement records of the problem and of a contender's settings."""
        return {
            **self.problem,
            "solver": contender.solver,
            "options": contender.options,
            "storage": contender.storage,
            "encoding": contender.encoding,
            "bias": contender.bias,
            "eps": self.eps if contender.eps is None else contender.eps,
        }

    @cached_property
    def fingerprint(self) -> str:
        """Hash everything that decides what is measured.

        It changes with the problem, the content of the data, the protocol of timing, any contender, and the
        source of any contender's solver. A changed solver therefore re-times exactly the rows in which it
        competes. Titles, repeats and paths do not affect it.
        """
        # Imported here because reading the registry takes a moment, which steps that only look up files can
        # skip.
        from svmrepro import datasets

        experiment = self.experiment
        data = _content_or_error(lambda: datasets.content_key(experiment.dataset, self.n, self.sample))
        if self.permutation is not None:
            data += f";permutation={self.permutation}"
        essence = {
            "data": data,
            "kernel": experiment.kernel,
            "C": self.C,
            "eps": self.eps,
            "contenders": [_essence(contender) for contender in self.contenders],
        }
        # Omitted without a test set, so that the keys of older rows stay valid.
        if experiment.test is not None:
            essence["test"] = _content_or_error(lambda: test_set_key(experiment, self.sample))
            essence["measures"] = list(experiment.measures)
        if experiment.grid is not None:
            essence["grid"] = {"C": experiment.grid.C, "gamma": experiment.grid.gamma}
        if experiment.trace:
            essence["trace"] = True
        # Omitted for the first protocol, which older rows do not name.
        if experiment.protocol != "1":
            essence["protocol"] = experiment.protocol
        return digest(essence)


@dataclass(frozen=True)
class Job:
    """The rows that one process measures."""

    name: str  # unique within the experiment; part of the file name
    instances: tuple[Instance, ...]  # ascending by size
    # The job before this one, whose limits this one must know: that of the next smaller size or of the
    # previous block of permutations.
    after: str | None = None

    def fingerprint(self) -> str:
        """Hash what the job must measure: rows, repeats, and numbers of threads that are too large here."""
        from svmrepro.solvers.compilation.processor import processors  # imports the solvers

        rows = ((instance.fingerprint, instance.experiment) for instance in self.instances)
        essence = [[row, experiment.repeats, experiment.repeat_budget] for row, experiment in rows]
        threads = {each.threads for instance in self.instances for each in instance.contenders}
        # Omitted if all fit, so that the keys of older jobs stay valid.
        return digest([*essence, *sorted(each for each in threads if each > processors())])


def instances(experiment: Experiment) -> tuple[Instance, ...]:
    """Return all instances of an experiment, ascending by size and then by difficulty."""
    sizes, seeds = experiment.sizes, experiment.seeds
    return tuple(instance for n in sizes for instance in _instances_of(experiment, n, seeds))


def jobs(config: Config, experiment: Experiment) -> tuple[Job, ...]:
    """Split an experiment into jobs, as the configuration's setting ``job`` says.

    It is a single job ``all``, which starts Python only once; or one job per size, which suits the time
    limits of a cluster. With many permutations, a size has a job per block of them in either case.
    """
    many = experiment.permutations is not None and len(experiment.seeds) > BLOCK
    if config.job == "experiment" and not many:
        return (Job("all", instances(experiment)),)
    found: list[Job] = []
    for n in experiment.sizes:
        for name, seeds in _blocks(experiment, n, MOST_BLOCKS[config.job]):
            found.append(Job(name, _instances_of(experiment, n, seeds), found[-1].name if found else None))
    return tuple(found)


def job(config: Config, experiment: Experiment, name: str) -> Job:
    """Look up a job by name; an unknown name raises a StepError."""
    for candidate in jobs(config, experiment):
        if candidate.name == name:
            return candidate
    raise StepError(f"experiment {experiment.name!r} has no job {name!r}")


def _instances_of(experiment: Experiment, n: int, seeds: tuple[int | None, ...]) -> tuple[Instance, ...]:
    measured = {point for each in experiment.contenders.values() for point in experiment.points_of(each)}
    points = [point for point in (*experiment.points, None) if point in measured]
    return tuple(Instance(experiment, n, seed, point) for point in points for seed in seeds)


def _content_or_error(key: Callable[[], str]) -> str:
    """Return a content key, or the error's text: the steps report the error when they read the file."""
    from svmrepro.datasets import DataError

    try:
        return key()
    except DataError as error:
        return str(error)


def test_set_key(experiment: Experiment, seed: int) -> str:
    """Return a text that changes with the content of an experiment's test set."""
    from svmrepro import datasets

    test = experiment.test
    assert test is not None
    if test.dataset is not None:
        return datasets.content_key(test.dataset, test.rows)
    if datasets.is_generated(experiment.dataset):
        assert test.rows is not None
        return f"{datasets.content_key(experiment.dataset, test.skip + test.rows, seed)};skip={test.skip}"
    return datasets.content_key(experiment.dataset, test.rows, part="test")


def _blocks(experiment: Experiment, n: int, most: int) -> list[tuple[str, tuple[int | None, ...]]]:
    """Return the jobs of one size: their names, and the seeds or permutations of each."""
    seeds = experiment.seeds
    if experiment.permutations is None or len(seeds) <= BLOCK:
        return [(f"n{n}", seeds)]
    width = max(BLOCK, -(-len(seeds) // most))
    return [(f"n{n}-p{first}", seeds[first : first + width]) for first in range(0, len(seeds), width)]


def _essence(contender: Contender) -> dict[str, Any]:
    """Return the settings that decide a contender's run."""
    from svmrepro import datasets

    essence = {
        "label": contender.label,
        "solver": contender.solver,
        "fingerprint": fingerprints.solver_fingerprint(contender.solver),
        "storage": contender.storage,
        "bias": contender.bias,
        "options": contender.options,
        "time_limit": contender.time_limit,
        "memory_limit_mb": contender.memory_limit_mb,
    }
    # Unset options are omitted, so that the keys of older rows stay valid.
    if contender.eps is not None:
        essence["eps"] = contender.eps
    if contender.iteration_limit is not None:
        essence["iteration_limit"] = str(contender.iteration_limit)
    if contender.warm:
        essence["warm"] = fingerprints.warm_starts_fingerprint()
    if contender.encoding is not None:
        essence["encoding"] = f"{contender.encoding}, version {datasets.ENCODING_VERSION}"
    return essence
