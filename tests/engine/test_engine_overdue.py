"""A run that takes far longer than expected: what is running, and for how long, in place of a forecast."""

import time
from pathlib import Path
from types import SimpleNamespace

from engine_support import EXPERIMENT, Terminal, prepare, rows, the_experiment
from svmrepro.workflow.configuration import jobs
from svmrepro.workflow.measurement import job_progress
from svmrepro.workflow.measurement.forecast import Forecast, overdue
from svmrepro.workflow.measurement.job_progress import JobProgress
from svmrepro.workflow.running import run_progress
from svmrepro.workflow.running.run_progress import RunProgress


class Clock:
    """The module `time` with a monotonic clock that the test sets."""

    def __init__(self, monkeypatch, module):
        self.now = 1000.0
        own = {"monotonic": lambda: self.now, "strftime": time.strftime}
        monkeypatch.setattr(module, "time", SimpleNamespace(**own))


def test_a_run_is_overdue_far_beyond_what_was_expected():
    assert [overdue(*each) for each in ((4, 0.1), (6, 0.1), (11, 5), (16, 5))] == [False, True, False, True]


def test_on_the_terminal_of_a_step(monkeypatch):
    clock, ticks = Clock(monkeypatch, job_progress), []

    class Ended:
        """An event that is waited for three times, each for half a minute, before it is set."""

        def wait(self, seconds):
            clock.now += 30 * bool(ticks)
            ticks.append(seconds)
            return len(ticks) > 2

    config, stream = prepare(), Terminal()
    part = jobs.job(config, the_experiment(config), "all")
    with JobProgress(config, the_experiment(config), part, Path("log.txt"), stream) as progress:
        progress.begin()
        progress._tick("n = 20 one", 1.0, Ended())
    *_, first, late = stream.getvalue().split("\r\x1b[K")
    assert first.startswith(f"{EXPERIMENT}: n = 20 one  1 s of about 1 s; 8 runs left, ")
    assert late == f"{EXPERIMENT}: n = 20 one  running for 30 s, about 1 s expected; 8 runs left"


def test_the_first_run_on_a_problem_may_be_compiling(monkeypatch):
    config, told = prepare(), []
    monkeypatch.setattr(JobProgress, "_tick", lambda *arguments: told.append(arguments[-1]))
    instance, part = rows(config)[0], jobs.job(config, the_experiment(config), "all")
    with JobProgress(config, the_experiment(config), part, Path("log.txt"), Terminal()) as progress:
        progress.begin()
        for repeat in range(2):
            with progress.run(instance, instance.experiment.contenders["one"], repeat):
                pass
    assert told == ["compiling or running", "running"]


def test_in_the_line_of_a_whole_run(monkeypatch):
    clock, config = Clock(monkeypatch, run_progress), prepare()
    progress = RunProgress(SimpleNamespace(config=config), print, list, str)
    forecast = Forecast(config, [the_experiment(config)])
    progress._cost = SimpleNamespace(forecast=forecast, runs=8, jobs=3, left=lambda *_: 20.0)
    assert progress.state() == "1 s, about 20 s left | 0/8 runs, 0/3 jobs"  # no job has begun
    progress.event(SimpleNamespace(event=SimpleNamespace(name="JOB_INFO"), jobid=1, rule_name="measure"))
    instance, part, sent = rows(config)[0], jobs.job(config, the_experiment(config), "all"), []
    monkeypatch.setattr(job_progress, "sender", lambda: sent.append)
    contender = instance.experiment.contenders["one"]
    with JobProgress(config, the_experiment(config), part) as of_job, of_job.run(instance, contender, 0):
        progress.message(sent[-1])
    clock.now += 5
    assert (
        progress.state() == "5 s, about 20 s left | 0/8 runs, 0/3 jobs | measuring: noise-linear, n = 20, one"
    )
    clock.now += 30
    assert progress.state() == "35 s | 0/8 runs, 0/3 jobs | measuring: noise-linear, n = 20, one, for 35 s"
