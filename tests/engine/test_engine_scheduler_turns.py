"""Snakemake's scheduler is asked for one turn at a time, however many jobs have ended."""

import threading
import time
from types import SimpleNamespace

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler
from svmrepro.workflow.graph import scheduler_turns


def test_turns(monkeypatch):
    monkeypatch.setattr(JobScheduler, "_schedule_reevalutation", JobScheduler._schedule_reevalutation)
    scheduler_turns.spare_processor()
    clock, started = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    timer = SimpleNamespace(start=lambda: started.append(clock[0]))
    monkeypatch.setattr(threading, "Timer", lambda delay, ask: timer)
    scheduler = object.__new__(JobScheduler)
    scheduler._open_jobs = threading.Semaphore(0)
    for _ in range(5):  # each turn asks for the next one, and so do the turns of jobs that end meanwhile
        for _ in range(10):
            scheduler._schedule_reevalutation(1)
            clock[0] += 0.08
        clock[0] += 0.2
    assert started == pytest.approx([100.0, 101.0, 102.0, 103.0, 104.0])


def test_the_next_turn_comes(monkeypatch):
    monkeypatch.setattr(JobScheduler, "_schedule_reevalutation", JobScheduler._schedule_reevalutation)
    scheduler_turns.spare_processor()
    scheduler = object.__new__(JobScheduler)
    scheduler._open_jobs = threading.Semaphore(0)
    for _ in range(20):
        scheduler._schedule_reevalutation(0.01)
        assert scheduler._open_jobs.acquire(timeout=60)
