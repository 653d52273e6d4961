"""Measure a job: the contenders of each row run interleaved, on the same examples, in one warmed-up process.

Run as ``python -m svmrepro.workflow.steps.measure --config CONFIG --paper PAPER --experiment EXPERIMENT --job
JOB``.

Each run is journalled as soon as it ends, so a killed job loses at most the current run. Its replacement
measures only what is missing (:mod:`svmrepro.workflow.journal.missing_runs`). If a child of the killed
process is still running, the replacement waits for it, because two timed runs at once would disturb each
other. A solver that ends the process, or one of the user's that does not stop, gets a line, too
(:mod:`svmrepro.workflow.measurement.supervision`). At the end, the job's own file holds exactly the lines
that count: the journal's lines of its rows, and one line with the reason for each contender that was not run.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration import Config, Contender, Experiment, jobs, paths
from svmrepro.workflow.configuration.jobs import Instance, Job
from svmrepro.workflow.errors import run_safely
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.journal.journal_file import Journal
from svmrepro.workflow.journal.journal_line import NO_RESULT, SCHEMA, dump_lines, not_run
from svmrepro.workflow.journal.missing_runs import MissingRuns
from svmrepro.workflow.locks import any_lock, lock
from svmrepro.workflow.measurement.data_sets import NotAvailable, load_instance, load_test, register
from svmrepro.workflow.measurement.job_progress import JobProgress
from svmrepro.workflow.measurement.present_run import PresentRun
from svmrepro.workflow.measurement.supervision import supervised
from svmrepro.workflow.steps._command_line import run_step
from svmrepro.workflow.surroundings import machine
from svmrepro.workflow.surroundings.instructions import Instructions
from svmrepro.workflow.surroundings.processor_state import pin_processor

if TYPE_CHECKING:
    from svmrepro.workflow.measurement.judge_matrices import JudgeMatrices


class _Last:
    """Keeps the last thing that was loaded, and no other: two data sets at once may exceed the memory."""

    def __init__(self) -> None:
        self._which: object = None
        self._loaded: Any = None

    def get(self, which: object, load: Callable[[], Any]) -> Any:
        """Return the thing named ``which``, loading it if it is not the last one."""
        if self._which != which:
            self._which = self._loaded = None
            self._loaded = load()
            self._which = which
        return self._loaded


class Measurer:
    """Measures the rows of a job."""

    def __init__(
        self,
        config: Config,
        experiment: Experiment,
        progress: JobProgress,
        present: PresentRun | None = None,
        earlier: int = 0,
    ) -> None:
        self._config = config
        self._experiment = experiment
        self._progress = progress
        self._present = present or PresentRun()
        self._journal = Journal(paths.journal(config, experiment.paper, experiment.name))
        self._machine = machine.describe()
        self._instructions = Instructions() if config.count_instructions else None
        self._run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
        self._missing = MissingRuns(experiment, config.shuffle, self._journal.valid_lines(), earlier)
        #: The examples are the same for all points of an axis, the test set for all rows with its seed.
        self._data, self._test = _Last(), _Last()

    @cached_property
    def _matrices(self) -> JudgeMatrices:
        from svmrepro.workflow.measurement.judge_matrices import JudgeMatrices  # needs the solvers

        return JudgeMatrices()

    def measure(self, instance: Instance) -> list[dict[str, Any]]:
        """Measure the missing runs of an instance; return all of its valid lines, by repeat and contender.

        Smaller instances must come first: a contender that meets a limit there is not run here.
        """
        stopped = self._missing.stopped(instance)
        missing = ""
        if next(self._missing.runs(instance, stopped), None) is not None:
            try:
                self._run(instance, stopped)
            except NotAvailable as error:
                missing = str(error)
                self._progress.not_run(f"n = {instance.n} not run: {missing}")
        found = self._missing.lines(instance)
        measured = {line["contender"] for line in found}
        for contender in instance.contenders:
            if contender.label not in measured:
                reason = stopped.get(contender.label) or missing
                found.append(self._line(instance, contender, 0, not_run(reason)))
        order = [contender.label for contender in instance.contenders]
        return sorted(found, key=lambda line: (line["repeat"], order.index(line["contender"])))

    def _run(self, instance: Instance, stopped: dict[str, str]) -> None:
        # Load solvers and compiled code only if something is to be run.
        from svmrepro.workflow.measurement.contender_run import ContenderRuns
        from svmrepro.workflow.measurement.grid_run import GridRuns

        config, test = self._config, None
        data = self._data.get((instance.n, instance.seed), lambda: load_instance(config, instance))
        if self._experiment.test is not None:
            which = (instance.sample, data.X.shape[1])
            test = self._test.get(which, lambda: load_test(config, instance, data.X.shape[1]))
        runs_of = ContenderRuns if self._experiment.grid is None else GridRuns
        contender_runs = runs_of(
            self._experiment,
            data.X,
            data.y,
            lambda encoding: load_instance(self._config, instance, encoding).X,
            point=instance.point,
            test=test,
            instructions=self._instructions,
            matrix=partial(
                self._matrices.of, examples=(instance.n, instance.sample), permutation=instance.permutation
            ),
            present=self._present,
        )
        for contender, repeat in self._missing.runs(instance, stopped):
            self._present.line = self._line(instance, contender, repeat, {**NO_RESULT, "status": "error"})
            with self._progress.run(instance, contender, repeat) as report:
                line = self._line(instance, contender, repeat, contender_runs.run(contender))
                if line["status"] != "not_run":  # more processors or packages may make it possible
                    self._journal.append(line)
                self._missing.add(line)
                report(line)

    def _line(
        self, instance: Instance, contender: Contender, repeat: int, result: dict[str, Any]
    ) -> dict[str, Any]:
        experiment = self._experiment
        return {
            "schema": SCHEMA,
            "run_id": self._run_id,
            "row": instance.fingerprint,
            "scale": self._config.scale,
            "paper": experiment.paper,
            "experiment": experiment.name,
            "n": instance.n,
            "n_paper": experiment.paper_sizes.get(instance.n),
            "seed": instance.seed,
            "repeat": repeat,
            "contender": contender.label,
            "point": instance.point,
            **instance.settings(contender),
            "time_limit": contender.time_limit,
            "memory_limit_mb": contender.memory_limit_mb,
            "fingerprint": fingerprints.solver_fingerprint(contender.solver),
            "package": fingerprints.package_of(contender.solver),
            "protocol": experiment.protocol,
            "machine": self._machine,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            **result,
        }


def measure_job(
    config: Config,
    experiment: Experiment,
    part: Job,
    progress: JobProgress,
    present: PresentRun | None = None,
    earlier: int = 0,
) -> None:
    """Measure a job and write its file; see the module docstring.

    ``earlier`` is the number of lines of the journal when the step began: their errors of a user's own
    solvers do not count.
    If a result cannot be written, everything measured before is in the journal.
    """
    target = paths.job_file(config, experiment.paper, experiment.name, part.name)
    journal = paths.journal(config, experiment.paper, experiment.name)
    own_lock = journal.parent / ".locks" / f"{experiment.name}.{part.name}.lock"
    with (
        lock(own_lock, progress.waiting),
        any_lock(paths.timing_slots(config), config.timed_jobs, progress.waiting) as slot,
    ):
        pin_processor(config.pin, slot, config.timed_jobs)
        progress.begin(earlier)
        measurer = Measurer(config, experiment, progress, present, earlier)
        lines = [line for instance in part.instances for line in measurer.measure(instance)]
        atomic_write(target, dump_lines(lines))


def run(config: Config, paper: str, experiment: str, job: str, log: Path | None = None) -> None:
    """Run the step, in a process that this one supervises; see the module docstring."""
    # Must run before numpy, numba or a BLAS is loaded.
    machine.pin_threads()
    described = config.experiment(paper, experiment)
    part = jobs.job(config, described, job)
    with JobProgress(config, described, part, log) as progress:
        present, journal = PresentRun(), Journal(paths.journal(config, paper, experiment))
        own = any(":" in contender.solver for contender in described.contenders.values())
        # Counted before the first process that measures: it may die, and be replaced.
        earlier = len(journal.valid_lines()) if own else 0
        supervised(present, journal, progress)
        os.environ["NUMBA_CACHE_DIR"] = str(fingerprints.compiled_dir())
        register(config)

        def measured() -> int:
            measure_job(config, described, part, progress, present, earlier)
            return 0

        code = run_safely(measured) if own else measured()
    if own:
        # Threads and functions at exit that a user's solver left behind could keep this process for ever.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    run_step(run)
