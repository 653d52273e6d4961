"""Follows a run by the events of Snakemake and the messages of its steps, and says where it stands."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from svmrepro.workflow.configuration import Experiment, paths
from svmrepro.workflow.errors import full_folder
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.measurement.forecast import duration, overdue
from svmrepro.workflow.running.run_cost import RunCost

#: What is shown while jobs of a rule run, the first that applies; other rules make artefacts.
PHASES = {
    "measure": "measuring",
    "compile_solvers": "compiling the solvers",
    "fetch_data": "getting data",
    "generate_data": "getting data",
    "analyse": "analysing",
    "collect_paper": "analysing",
    "report": "writing the report",
}
_OTHER = "making tables and figures"
#: Beginnings of Snakemake's messages about failed jobs, which are reported one by one, or about a stopped
#: run.
_TOLD = ("Exiting because", "Error in", "RuleException", "Error(s) in", "At least one job did not complete")
#: Rules that explain their own failure.
_ANSWERING = frozenset({"check", "compare"})
#: Rules whose own log lacks a traceback of their step.
_UNLOGGED = frozenset({"measure", "report"})


class RunProgress:
    """The state of a run.

    ``say`` prints a line; ``errors`` returns those that steps have printed since its last call; ``explain``
    says an error of Snakemake in one line.
    """

    def __init__(
        self,
        plan: Plan,
        say: Callable[[str], None],
        errors: Callable[[], list[str]],
        explain: Callable[[str], str],
    ) -> None:
        self._plan = plan
        self._say = say
        self._errors = errors
        self._explain = explain
        self._lock = threading.RLock()
        self._began = time.monotonic()
        self._cost: RunCost | None = None
        self._running: dict[int, str] = {}
        self._made = self._done = self._compiled = 0
        self._compiling = 0.0
        self._what = ""
        #: The present run: paper, experiment, contender and size, and when it began.
        self._present: tuple[Sequence[Any], float] | None = None
        #: Messages that were printed once, and jobs that failed.
        self._said: set[str] = set()
        self._failed = False
        self._stopping = self._terminated = False
        self.jobs_failed = 0
        self.nothing = False

    def stop(self) -> None:
        """Take note that the run is being stopped: what fails from now on is no failure."""
        self._stopping = True

    def terminate(self) -> None:
        """Take note that the run is being terminated, perhaps with the steps under way."""
        self._terminated = True

    def begin(self) -> None:
        """Forecast the run, once Snakemake knows its jobs, and say what it costs."""
        with self._lock:
            self._cost = RunCost(self._plan)
            text = self._cost.text()
        self._say(text)

    def state(self) -> str:
        """Return the line that says where the run stands; empty before its jobs are known."""
        with self._lock:
            if self._stopping:
                return "stopping"
            cost = self._cost
            if cost is None:
                return ""
            running = set(self._running.values())
            phase = next(
                (said for rule, said in PHASES.items() if rule in running), _OTHER if running else ""
            )
            what = f"{phase}: {self._what}" if phase == PHASES["measure"] and self._what else phase
            if phase == PHASES["compile_solvers"]:
                what += f", {self._compiled}/{cost.to_compile} done"
            runs = f"{self._made:,}/{max(cost.runs, self._made):,} runs, " if cost.runs else ""
            at_once = sum(rule == "measure" for rule in self._running.values())
            passed = time.monotonic() - self._compiling if self._compiling else 0.0
            seconds = cost.left(at_once, self._compiled, passed)
            about = "" if seconds is None else f", about {duration(seconds)} left"
            if phase == PHASES["measure"] and (late := self._overdue(cost)):
                about, what = "", f"{what}, for {duration(late)}"
            counts = f"{runs}{self._done:,}/{cost.jobs:,} jobs"
            so_far = f"{duration(time.monotonic() - self._began)}{about}"
            return " | ".join(filter(None, (so_far, counts, what)))

    def _overdue(self, cost: RunCost) -> float:
        """Return the seconds of the present run if it is overdue, otherwise 0."""
        if self._present is None:
            return 0.0
        (paper, name, label, n), began = self._present
        experiment, passed = self._plan.config.experiment(paper, name), time.monotonic() - began
        expected = cost.forecast.seconds(experiment, experiment.contenders[label], n)
        return passed if overdue(passed, expected) else 0.0

    def experiments(self) -> list[Experiment]:
        """Return the requested experiments, measured now or before."""
        dag = getattr(self._plan.workflow, "dag", None)
        # A graph in which nothing is left to do counts as empty.
        jobs = [] if dag is None else [job for job in dag.jobs if job.rule.name == "measure"]
        asked = dict.fromkeys((job.wildcards.paper, job.wildcards.experiment) for job in jobs)
        return [self._plan.config.experiment(*each) for each in asked]

    # -- messages of steps --------------------------------------------------------------------------

    def message(self, message: Mapping[str, Any]) -> None:
        """Take a message of a step, see `svmrepro.workflow.measurement.channel`."""
        with self._lock:
            if "run" in message:
                self._what = str(message["run"])
                self._present = (message["place"], time.monotonic())
            elif "made" in message:
                made = message["made"]
                self._made += 1
                self._present = None
                if self._cost is not None:
                    self._cost.forecast.add(made)
                if made["status"] in ("error", "uncertified"):
                    self._once(f"{made['experiment']} {made['contender']}", str(message["text"]))
            elif "compiled" in message:
                self._compiled += 1
            elif "note" in message:
                self._once(str(message["note"]), str(message["note"]))

    def _once(self, key: str, text: str) -> None:
        if key not in self._said:
            self._said.add(key)
            self._say(text)

    # -- events of Snakemake ------------------------------------------------------------------------

    def event(self, record: logging.LogRecord) -> None:
        """Take a record of Snakemake's log."""
        with self._lock:
            if self._stopping:
                return
            name = str(getattr(getattr(record, "event", None), "name", ""))
            handle = getattr(self, f"_on_{name.lower()}", None)
            if handle is not None:
                handle(record)
            elif record.levelno >= logging.ERROR:
                self._on_error(record)
            elif record.getMessage().startswith("Nothing to be done"):
                self.nothing = True

    def _on_job_info(self, record: Any) -> None:
        self._running[record.jobid] = record.rule_name
        if record.rule_name == "compile_solvers":
            self._compiling = self._compiling or time.monotonic()

    def _on_job_finished(self, record: Any) -> None:
        rule = self._running.pop(record.job_id, None)
        if self._cost is not None and rule != "measure":
            self._cost.finished(rule)

    def _on_progress(self, record: Any) -> None:
        self._done = record.done

    def _on_job_error(self, record: Any) -> None:
        self._running.pop(record.jobid, None)
        told = self._errors()
        for line in told:
            self._once(line, line)
        self._failed = True
        if self._terminated and not told:
            return  # the signal reached the step, too
        self.jobs_failed += 1
        if not told and record.rule_name not in _ANSWERING:
            results = paths.results(self._plan.config)
            full = full_folder(results)  # which the step could not report, either
            why = f": cannot write into {full}: no space left on device" if full else ""
            unlogged = [paths.output_log(self._plan.config)] if record.rule_name in _UNLOGGED else []
            logs = ", ".join(map(str, unlogged or record.log)) or "its output"
            text = f"error: {record.rule_name} failed{why}; see {logs}"
            self._once(record.rule_name if full else text, text)

    def _on_error(self, record: logging.LogRecord) -> None:
        text = record.getMessage().removeprefix("WorkflowError:").strip()
        # Consequences of a failed job were reported with it.
        if self._failed or text.startswith(_TOLD):
            return
        self._once(text, f"error: {self._explain(text)}")
        self._failed = True


def open_errors(file: Path) -> Callable[[], list[str]]:
    """Return a function that reads the lines ``error: ...`` that were added to a file since its last call."""
    place = file.stat().st_size if file.exists() else 0

    def read() -> list[str]:
        nonlocal place
        with file.open(encoding="utf-8", errors="replace") as stream:
            stream.seek(place)
            text = stream.read()
            place = stream.tell()
        return [line for line in text.splitlines() if line.startswith("error: ")]

    return read
