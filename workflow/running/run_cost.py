"""What a run will cost before it starts, and what is left of it: timed runs, compiling, all other steps."""

from __future__ import annotations

from collections import Counter

from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.measurement.forecast import Forecast, duration
from svmrepro.workflow.number_text import plural

#: Seconds of compiling a combination of solver, kernel and storage, and of a step that measures nothing.
COMPILE_SECONDS, STEP_SECONDS = 2.0, 2.0
#: A forecast of this many seconds or more comes with a hint at the toy size.
LONG = 600.0


class RunCost:
    """The jobs that Snakemake is going to run, once it knows them, and the seconds that they take.

    ``runs`` are the timed ones in the ``jobs``, of which the ``forecast`` learns from each that is added;
    ``to_compile`` counts the combinations of solver, kernel and storage, those of each paper for itself.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        jobs = list(plan.workflow.dag.needrun_jobs(exclude_finished=False))
        rules = Counter(job.rule.name for job in jobs)
        asked = dict.fromkeys(
            (job.wildcards.paper, job.wildcards.experiment) for job in jobs if job.rule.name == "measure"
        )
        self.forecast = Forecast(plan.config, [plan.config.experiment(*each) for each in asked])
        self.jobs = len(jobs)
        self.runs, _ = self.forecast.left()
        self._compilers = rules["compile_solvers"]
        self.to_compile = sum(
            len(plan.combinations(job.wildcards.paper)) for job in jobs if job.rule.name == "compile_solvers"
        )
        self._others = len(jobs) - rules["measure"]

    def text(self) -> str:
        """Describe the cost of the run in one line."""
        scale, seconds = self._plan.config.scale, self.left()
        text = f"Scale {scale}: {plural(self.jobs, 'job')}"
        if self.runs:
            text += f", {plural(self.runs, 'run')}"
        text += f", {'time not known yet' if seconds is None else f'about {duration(seconds)}'}"
        if seconds is not None and not self._plan.workflow.local_exec:
            text += " if run one after another, not counting the time in the queue"
        if seconds is not None and seconds >= LONG and scale != "smoke":
            text += "; for toy sizes, in minutes, use --scale smoke"
        return text

    def finished(self, rule: str | None) -> None:
        """Take note that a job that measures nothing has ended."""
        if rule == "compile_solvers":
            self._compilers -= 1
            if not self._compilers:
                self.to_compile = 0
        self._others = max(0, self._others - 1)

    def left(self, at_once: int = 1, compiled: int = 0, compiling: float = 0.0) -> float | None:
        """Estimate the seconds left, with ``at_once`` timed jobs side by side; None if they are unknown.

        ``compiled`` combinations took ``compiling`` seconds so far.
        """
        _, seconds = self.forecast.left()
        if seconds is None:
            return None
        cores = max(1, int(getattr(self._plan.workflow.resource_settings, "cores", None) or 1))
        each = compiling / compiled if compiled else COMPILE_SECONDS
        to_come = max(0.0, self.to_compile * each - compiling)
        return seconds / max(1, at_once) + self._others * STEP_SECONDS / cores + to_come
