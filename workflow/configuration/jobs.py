"""From experiments to work: instances, and the jobs that measure them.

An instance is an experiment at one size and one seed or permutation. All its contenders run side by side. In
the journal it is a ``row``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration.model import Config, Contender, Experiment
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.fingerprints import digest

#: Permutations that one job measures where a size has a job of its own.
BLOCK = 10
#: Jobs of a size beyond which each measures more permutations: every job reads the journal of its experiment.
MOST_BLOCKS = 100


@dataclass(frozen=True)
class Instance:
    """
    An experiment at one size (and seed or permutation), on which all contenders run side by side.

    Attributes
    ----------
    n
        Number of training examples.
    seed
        Seed of a generated data set, or number of the permutation, else None.
    point
        Value on the experiment's axis; None without one, and for contenders that the axis does not change.
    """

    experiment: Experiment
    n: int
    seed: int | None
    point: float | None = None

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """The contenders that run on it."""
        experiment = self.experiment
        return tuple(
            contender
            for contender in experiment.contenders.values()
            if self.seed in experiment.seeds_of(contender) and self.point in experiment.points_of(contender)
        )

    @property
    def permutation(self) -> int | None:
        """Number of the order of the examples; None: the data set's own order."""
        return None if self.experiment.permutations is None else self.seed

    @property
    def sample(self) -> int:
        """Seed of the examples, which only a generated set looks at."""
        return 0 if self.experiment.permutations is not None else self.seed or 0

    @property
    def C(self) -> float:
        """Bound of each multiplier."""
        return self.experiment.bound(self.n, self.point)

    @property
    def eps(self) -> float:
        """Stopping tolerance."""
        return self.experiment.tolerance(self.point)

    @cached_property
    def key(self) -> str:
        """
        Hash all that decides what is measured.

        It changes with the problem, with the data's content, with any contender and with the source of any
        contender's solver: a changed solver re-times exactly the rows in which it competes. Titles, repeats
        and where things lie leave it as it is.
        """
        # Reading the registry takes a moment that steps which only look for files do without.
        from svmrepro import datasets

        experiment = self.experiment
        try:
            data = datasets.content_key(experiment.dataset, self.n, self.sample)
        except datasets.DataError as error:
            # A user's own file that is gone or too short is an error when it is read.
            data = str(error)
        if self.permutation is not None:
            data += f";permutation={self.permutation}"
        essence = {
            "data": data,
            "kernel": experiment.kernel,
            "C": self.C,
            "eps": self.eps,
            "contenders": [_essence(contender) for contender in self.contenders],
        }
        # Left out where nothing is judged, so that the keys of such rows stay what they were.
        if experiment.test is not None:
            try:
                essence["test"] = test_set_key(experiment, self.sample)
            except datasets.DataError as error:
                essence["test"] = str(error)
            essence["measures"] = list(experiment.measures)
        return digest(essence)


@dataclass(frozen=True)
class Job:
    """
    What one process measures.

    Attributes
    ----------
    name
        Unique within the experiment; part of a file's name.
    instances
        Ascending in size.
    after
        The job before it, of the next smaller size or the permutations before, whose limits this one must
        know; None for the first.
    """

    name: str
    instances: tuple[Instance, ...]
    after: str | None = None

    def wanted(self) -> str:
        """Hash what the job has to measure: its rows, and how often."""
        return digest(
            [
                [instance.key, instance.experiment.repeats, instance.experiment.repeat_budget]
                for instance in self.instances
            ]
        )


def instances(experiment: Experiment) -> tuple[Instance, ...]:
    """Return all rows of an experiment, ascending in size and then in difficulty."""
    return tuple(
        instance for n in experiment.sizes for instance in _instances_of(experiment, n, experiment.seeds)
    )


def jobs(config: Config, experiment: Experiment) -> tuple[Job, ...]:
    """
    Cut an experiment into jobs.

    Parameters
    ----------
    config
        Its setting ``job`` says how.
    experiment
        One of its experiments.

    Returns
    -------
    tuple of Job
        One job ``all``, which saves a start of Python for each size, or one for each size and for each block
        of its permutations, which a cluster's time limit hurts less.
    """
    if config.job == "experiment":
        return (Job("all", instances(experiment)),)
    found: list[Job] = []
    for n in experiment.sizes:
        for name, seeds in _blocks(experiment, n):
            found.append(Job(name, _instances_of(experiment, n, seeds), found[-1].name if found else None))
    return tuple(found)


def job(config: Config, experiment: Experiment, name: str) -> Job:
    """
    Look a job up.

    Raises
    ------
    StepError
        If the experiment has no such job.
    """
    for candidate in jobs(config, experiment):
        if candidate.name == name:
            return candidate
    raise StepError(f"experiment {experiment.name!r} has no job {name!r}")


def _instances_of(experiment: Experiment, n: int, seeds: tuple[int | None, ...]) -> tuple[Instance, ...]:
    """Return the rows of a size."""
    wanted = {point for each in experiment.contenders.values() for point in experiment.points_of(each)}
    points = [point for point in (*experiment.points, None) if point in wanted]
    return tuple(Instance(experiment, n, seed, point) for point in points for seed in seeds)


def test_set_key(experiment: Experiment, seed: int) -> str:
    """
    Return a text that changes with the content of an experiment's test set.

    Parameters
    ----------
    experiment
        It has one.
    seed
        Of a generated data set.
    """
    from svmrepro import datasets

    test = experiment.test
    assert test is not None
    if test.dataset is not None:
        return datasets.content_key(test.dataset, test.rows)
    if datasets.is_generated(experiment.dataset):
        assert test.rows is not None
        return f"{datasets.content_key(experiment.dataset, test.skip + test.rows, seed)};skip={test.skip}"
    return datasets.content_key(experiment.dataset, test.rows, part="test")


def _blocks(experiment: Experiment, n: int) -> list[tuple[str, tuple[int | None, ...]]]:
    """Return the jobs of a size: their names, and the seeds or permutations of each."""
    seeds = experiment.seeds
    if experiment.permutations is None or len(seeds) <= BLOCK:
        return [(f"n{n}", seeds)]
    width = max(BLOCK, -(-len(seeds) // MOST_BLOCKS))
    return [(f"n{n}-p{first}", seeds[first : first + width]) for first in range(0, len(seeds), width)]


def _essence(contender: Contender) -> dict[str, Any]:
    """Return what decides a contender's run: everything but how it is called elsewhere."""
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
    # Left out where there is none, so that the keys of rows without stay what they were.
    if contender.eps is not None:
        essence["eps"] = contender.eps
    if contender.iteration_limit is not None:
        essence["iteration_limit"] = str(contender.iteration_limit)
    if contender.encoding is not None:
        essence["encoding"] = f"{contender.encoding}, version {datasets.ENCODING_VERSION}"
    return essence
