"""Progress messages of a job: the current run, results, remaining runs and time."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from svmrepro.workflow.configuration import Config, Contender, Experiment
from svmrepro.workflow.configuration.jobs import Instance, Job
from svmrepro.workflow.errors import writing
from svmrepro.workflow.journal.journal_line import OPTIMAL
from svmrepro.workflow.measurement.channel import sender
from svmrepro.workflow.measurement.forecast import Forecast, duration, overdue
from svmrepro.workflow.number_text import plural

#: Seconds between updates during a long run, on a terminal and elsewhere.
TICK_TERMINAL, TICK_PLAIN = 1.0, 60.0
#: Without a terminal, runs that end within this many seconds of the last line share one line.
PLAIN_PAUSE = 2.0


#: Fields of a line that a command is sent: what a forecast needs.
_SENT = (
    *("paper", "experiment", "contender", "solver", "n", "point", "repeat"),
    *("status", "reason", "cpu_seconds", "flagged"),
)


class JobProgress:
    """Reports on a job to a stream, by default standard error, and in full to a log file.

    On a terminal, the last line always shows the current run. Elsewhere only complete lines are written. If a
    command of ``svmrepro`` started the run, it gets the messages instead, and shows what all jobs do. The log
    file gets one line per run.
    """

    def __init__(
        self,
        config: Config,
        experiment: Experiment,
        job: Job,
        log: Path | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self._config = config
        self._experiment = experiment
        #: The experiment and, if it has several, the job.
        self.name = experiment.name if job.name == "all" else f"{experiment.name} {job.name}"
        self._stream = stream or sys.stderr
        self._send = sender() if stream is None else None
        self._terminal = self._stream.isatty()
        self._log_path = log or Path(os.devnull)
        self._log = _open_log(self._log_path)
        self._forecast: Forecast  # set by `begin`
        self._last_plain = -PLAIN_PAUSE
        self._untold = False

    def __enter__(self) -> JobProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._untold:
            self.note(f"measured; {self._left()}")
        with writing(self._log_path):
            self._log.close()

    def waiting(self, owner: str) -> None:
        """Report that another process is still measuring, perhaps a survivor of a killed run."""
        self.note(f"waiting for {owner} of an earlier run, which is still measuring; nothing is lost")

    def begin(self, earlier: int = 0) -> None:
        """Count the remaining runs, once no other process measures; ``earlier`` is that of `MissingRuns`."""
        if self._send:
            return
        self._forecast = Forecast(self._config, self._experiment, earlier)
        runs, seconds = self._forecast.left(self._experiment)
        if runs:
            self.note(f"{plural(runs, 'run')} to make, {_when(seconds)}")
        else:
            self._write_log("nothing left to measure")

    def note(self, text: str) -> None:
        """Print a line."""
        self._print(f"{self.name}: {text}")

    def not_run(self, text: str) -> None:
        """Print a line about what was not run; a command, which lists all that at its end, gets none."""
        if self._send:
            self._write_log(f"{self.name}: {text}")
        else:
            self.note(text)

    @contextmanager
    def run(
        self, instance: Instance, contender: Contender, repeat: int
    ) -> Iterator[Callable[[Mapping[str, Any]], None]]:
        """Report on a run while it is in progress; yield a function that takes its line at the end."""
        repeats = instance.experiment.repeats
        which = f"{repeat + 1}/{repeats}"
        if instance.permutation is not None:
            order = f"permutation {instance.permutation + 1}/{instance.experiment.permutations}"
            which = f"{order}, {which}" if repeats > 1 else order
        point = "" if instance.point is None else f"{instance.experiment.axis} = {instance.point:<8g} "
        what = f"n = {instance.n:<6} {point}{contender.label:<19} {which}"
        if self._send:
            text = ", ".join(filter(None, (self.name, f"n = {instance.n:,}", point.strip(), contender.label)))
            place = (self._experiment.paper, self._experiment.name, contender.label, instance.n)
            self._send({"run": text, "place": place})
            yield lambda line: self._report(what, line)
            return
        expected = self._forecast.seconds(instance.experiment, contender, instance.n)
        ended = threading.Event()
        # Before its first run on a problem, a contender loads its code, or compiles it.
        doing = "running" if repeat else "compiling or running"
        ticker = threading.Thread(target=self._tick, args=(what, expected, ended, doing), daemon=True)
        if self._terminal:
            text = f"{self.name}: {what}  measuring, {_about(expected)}; {self._left()}"
            self._print(text, log=False, end="")
        ticker.start()

        def report(line: Mapping[str, Any]) -> None:
            ended.set()
            ticker.join()
            self._forecast.add(line)
            self._report(what, line)

        try:
            yield report
        finally:
            ended.set()

    def lost(self, line: Mapping[str, Any]) -> None:
        """Report a run that ended with its process."""
        text = f"{line['solver']} on n = {line['n']:,}: {line['status']} ({line['reason']})"
        if self._send:
            self._send_made(line, text)
            self._write_log(text)
        else:
            self.note(text)

    def _send_made(self, line: Mapping[str, Any], text: str) -> None:
        assert self._send is not None
        self._send({"made": {name: line[name] for name in _SENT}, "text": f"{self.name}: {text}"})

    def _report(self, what: str, line: Mapping[str, Any]) -> None:
        seconds = "" if line["cpu_seconds"] is None else f"{line['cpu_seconds']:.3g} s"
        flag = f" (flagged: {line['flag_reason']})" if line["flagged"] else ""
        reason = f" ({line['reason']})" if line["reason"] else ""
        text = f"{what}  {seconds:>9}  {line['status']}{reason}"
        self._write_log(text + flag)
        if self._send:
            self._send_made(line, text)
            return
        now = time.monotonic()
        notable = line["status"] != OPTIMAL
        self._untold = not (self._terminal or notable or now - self._last_plain >= PLAIN_PAUSE)
        if not self._untold:
            self._last_plain = now
            self._print(f"{self.name}: {text}; {self._left()}", log=False)

    def _tick(self, what: str, expected: float, ended: threading.Event, doing: str = "running") -> None:
        """Show that a long run is alive; this takes no time from the thread whose CPU time is measured."""
        began = time.monotonic()
        while not ended.wait(TICK_TERMINAL if self._terminal else TICK_PLAIN):
            text = f"{self.name}: {what}  {self._so_far(doing, time.monotonic() - began, expected)}"
            self._print(text, log=False, end="" if self._terminal else "\n")

    def _so_far(self, doing: str, passed: float, expected: float) -> str:
        """Say how long a run has taken, and what is left; an overdue run gives no estimate."""
        if overdue(passed, expected):
            runs, _ = self._forecast.left(self._experiment)
            return f"{doing} for {duration(passed)}, {_about(expected)} expected; {plural(runs, 'run')} left"
        return f"{duration(passed)} of {_about(expected)}; {self._left()}"

    def _left(self) -> str:
        runs, seconds = self._forecast.left(self._experiment)
        return f"{plural(runs, 'run')} left, {_when(seconds)}" if runs else "no run left"

    def _print(self, text: str, log: bool = True, end: str = "\n") -> None:
        """Print a line, over the one that an empty ``end`` left open on a terminal."""
        if self._send:
            self._send({"note": text})
            self._write_log(text)
            return
        clear = "\r\x1b[K" if self._terminal else ""
        self._stream.write(f"{clear}{text}{end}")
        self._stream.flush()
        if log:
            self._write_log(text)

    def _write_log(self, text: str) -> None:
        with writing(self._log_path):
            self._log.write(f"{time.strftime('%H:%M:%S')} {text}\n")
            self._log.flush()


def _open_log(path: Path) -> TextIO:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8")


def _when(seconds: float | None) -> str:
    return "duration not known yet" if seconds is None else _about(seconds)


def _about(seconds: float) -> str:
    return f"about {duration(seconds)}"
