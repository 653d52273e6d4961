"""Keep Snakemake's scheduler idle while jobs run.

To keep to ``--max-jobs-per-timespan`` (100 a second by default), the scheduler asks at each of its turns for
another one a second later, and each job that ends gives it one more. Every job thus adds a chain of turns
that ends with the run only. After a hundred jobs the scheduler took 0.4 processors, which disturbed
measurements (seen with Snakemake 9.27). Here no turn is asked for while another is due.
"""

from __future__ import annotations

import threading
import time
from typing import Any


def spare_processor() -> None:
    """Let one timer at a time ask for the scheduler's next turn, if Snakemake has the expected method."""
    try:
        from snakemake.scheduling.job_scheduler import JobScheduler
    except ImportError:
        return
    if hasattr(JobScheduler, "_schedule_reevalutation"):
        JobScheduler._schedule_reevalutation = _ask_once


def _ask_once(scheduler: Any, delay: float) -> None:
    """Ask for a turn after ``delay`` seconds, unless one is due by then."""
    now = time.monotonic()
    if now < getattr(scheduler, "svmrepro_turn_due", 0.0) <= now + delay:
        return
    # a little early, so that the turn asked for here finds none due, whatever the clock's grain
    scheduler.svmrepro_turn_due = now + 0.9 * delay
    timer = threading.Timer(delay, scheduler._open_jobs.release)
    timer.daemon = True  # the last one must not delay the end
    timer.start()
