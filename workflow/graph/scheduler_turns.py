"""Keep Snakemake's scheduler idle while jobs run.

To keep to ``--max-jobs-per-timespan`` (100 a second by default), the scheduler asks at each of its turns for
another one a second later, and each job that ends gives it one more. Every job thus adds a chain of turns
that goes on as long as jobs wait. After a hundred jobs the scheduler took 0.4 processors, which disturbed
measurements (seen with Snakemake 9.27). Here a turn is requested only where the limit keeps jobs waiting, and
not while an earlier one is due.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any


def spare_processor() -> None:
    """Ask for fewer of the scheduler's turns, if Snakemake has the expected class and method."""
    try:
        from snakemake.scheduling.job_scheduler import JobScheduler
    except ImportError:
        return
    asks = getattr(JobScheduler, "_schedule_reevalutation", None)
    if asks is not None and asks is not _ask_once:
        JobScheduler._schedule_reevalutation = _ask_once


def _ask_once(scheduler: Any, delay: float) -> None:
    """Ask for a turn after ``delay`` seconds, unless none is needed or one is due by then."""
    limit = scheduler.job_rate_limiter
    if limit is not None and delay == limit.timespan and limit.get_free_jobs() > 0:
        return  # jobs wait for resources, and the end of a job brings a turn
    if getattr(scheduler, "svmrepro_turn_due", math.inf) <= time.monotonic() + delay:
        return

    def turn() -> None:
        scheduler.svmrepro_turn_due = math.inf
        scheduler._open_jobs.release()

    scheduler.svmrepro_turn_due = time.monotonic() + delay
    timer = threading.Timer(delay, turn)
    timer.daemon = True  # the last one must not delay the end
    timer.start()
