"""Snakemake's scheduler is asked for a turn only if one is needed, and for one at a time."""

import threading
from types import SimpleNamespace

import pytest
from snakemake.scheduling.job_scheduler import JobRateLimiter, JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan
from svmrepro.workflow.graph import scheduler_turns


@pytest.fixture
def scheduler(monkeypatch):
    """A scheduler without jobs, whose limit of two jobs a second is reached."""
    monkeypatch.setattr(JobScheduler, "_schedule_reevalutation", JobScheduler._schedule_reevalutation)
    scheduler_turns.spare_processor()
    found = object.__new__(JobScheduler)
    found._open_jobs = threading.Semaphore(0)
    found.job_rate_limiter = JobRateLimiter(MaxJobsPerTimespan(2, "1s"))
    found.job_rate_limiter.register_jobs(2)
    return found


@pytest.fixture
def timers(monkeypatch):
    """Delays of the timers that are started, each with the function that it calls at last."""
    started = []

    def timer(delay, turn):
        return SimpleNamespace(start=lambda: started.append((delay, turn)))

    monkeypatch.setattr(threading, "Timer", timer)
    return started


def test_one_turn_at_a_time(scheduler, timers):
    for turn in range(5):  # of each turn, and of the jobs that end before the next one
        for _ in range(10):
            scheduler._schedule_reevalutation(1)
        assert [delay for delay, _ in timers] == [1] * (turn + 1)
        timers[-1][1]()
        assert scheduler._open_jobs.acquire(blocking=False)


def test_an_earlier_turn_can_be_asked_for(scheduler, timers):
    for delay in (10, 1, 10, 1):
        scheduler._schedule_reevalutation(delay)
    assert [delay for delay, _ in timers] == [10, 1]


def test_no_turn_while_the_limit_is_not_reached(scheduler, timers):
    scheduler.job_rate_limiter = JobRateLimiter(MaxJobsPerTimespan(2, "1s"))
    scheduler._schedule_reevalutation(1)
    assert not timers
    scheduler._schedule_reevalutation(10)  # for another reason
    assert len(timers) == 1


def test_turns_come(scheduler):
    for _ in range(20):
        scheduler._schedule_reevalutation(0.01)
        assert scheduler._open_jobs.acquire(timeout=60)
