"""Calls Snakemake, in this process, for the commands that run the workflow; has their common options."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from svmrepro.workflow.configuration import ROOT, as_called, callers_folder, config_dir, paths
from svmrepro.workflow.configuration.model import COMMAND_LINE, Layer
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.running.single_options import refuse_repeated

STOPPED = "stopped; nothing is lost, and the same command resumes the run"

_SHORT = re.compile("-[sd]")
"""Options of `run` that would mean something else to Snakemake."""

_TIDYING = (
    *("delete_all_output", "delete_temp_output", "cleanup_shadow"),
    *("conda_create_envs_only", "conda_cleanup_envs", "container_cleanup_images"),
)
"""Options with which Snakemake makes or deletes files without a job, and says so itself."""

#: Seconds in which the steps under way end after Ctrl-C in a terminal, which reaches them, too.
GRACE = 2.0


def add_arguments(parser: argparse.ArgumentParser, targets: str, first: str = "") -> None:
    """Add the options of all commands that run the workflow, and describe their targets and a first word."""
    parser.add_argument("--scale", help="sizes of the problems: smoke, default, paper")
    parser.usage = (
        f"%(prog)s [-h] [--scale SCALE] {first}[{targets} ...] [--config KEY=VALUE ...] "
        "[options of Snakemake]"
    )
    # A command finds its targets among the words for Snakemake; only the completion of words needs them here.
    if "_ARGCOMPLETE" in os.environ:
        parser.add_argument(targets.lower(), nargs="*")


def command(
    goal: str, first: str = ""
) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace, list[str]], int]]:
    """Return `add_arguments` and `run` of a command that runs the workflow up to a goal, for some papers.

    ``first`` is the word that the help shows before the papers.
    """
    return partial(add_arguments, targets="PAPER", first=first), partial(run, goal=goal)


def run(
    given: argparse.Namespace,
    others: Sequence[str],
    goal: str | None = None,
    commands: Iterable[str] = (),
) -> int:
    """Run the workflow; return the exit code.

    ``given`` is what `add_arguments` found, ``others`` are targets and options of Snakemake. With the
    command's own target as the ``goal``, the run is confined to the papers named there, if any. An unknown
    target may be one of the ``commands``, misspelt.
    """
    try:
        return _run(given, others, goal, commands)
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        return 130


def _run(given: argparse.Namespace, others: Sequence[str], goal: str | None, commands: Iterable[str]) -> int:
    # Imported late: completion and help need none of it.
    from svmrepro.datasets.input_checks import closest
    from svmrepro.workflow.graph.plan import Plan
    from svmrepro.workflow.graph.snakemake_settings import makes_files
    from svmrepro.workflow.graph.targets import check_target
    from svmrepro.workflow.running.engine_errors import explain, one_line_errors, translated
    from svmrepro.workflow.running.engine_options import check_options
    from svmrepro.workflow.running.selection import selected

    if goal is not None and (word := next(filter(_SHORT.match, others), None)) is not None:
        part = as_called("`./run -s smo -d adult`")
        raise StepError(f"{word[:2]}: {goal} takes whole papers; {part} measures a part")
    parser, settings = _parsed(others)
    layers = _layers(given, settings)
    if own := [name for name in getattr(given, "solver", None) or () if ":" in name]:
        callers_folder.make_importable(own)
    if getattr(given, "solver", None) or getattr(given, "dataset", None):
        layers = selected(layers, given.solver, given.dataset)
    targets = set(settings.targets or ())
    if "reference" in targets and (getattr(given, "solver", None) or getattr(given, "dataset", None)):
        raise StepError("reference: takes whole papers; leave out -s and -d")
    if goal is None and "reference" in targets:
        goal = "reference"
    if goal is not None:
        named = {target for target in targets if _is_paper(target)}
        if named:
            layers.append(("the command line", {"papers": sorted(named)}))
        targets -= named
        if goal == "compare" and (runs := sorted(filter(_is_run, targets))):
            layers.append(_compare_layer(runs, layers, settings))
            targets -= set(runs)
        targets.add(goal)
    _enter_folder(settings)
    plan = Plan(layers)
    if more := {target for target in targets - {goal} if _is_paper(target)} - plan.config.papers.keys():
        # Papers that are not part of the scale may be requested all the same.
        layers.append(("the command line", {"papers": sorted({*plan.config.papers, *more})}))
        plan = Plan(layers)
    plan.check_mirror()
    for target in sorted(targets, key=lambda target: (target == goal, target)):
        if goal == "compare" and target not in plan.targets():
            hint = closest(target, plan.config.papers)
            raise StepError(f"compare: {target!r} is not a folder, an archive or a paper{hint}")
        check_target(plan, target, commands)
        if goal is not None and any(target in paper.experiments for paper in plan.config.papers.values()):
            papers = ", ".join(plan.config.papers)
            raise StepError(f"{target!r} is an experiment; {goal} takes papers: {papers}")
    check_options(settings, plan, others)
    settings.targets = targets
    # This process has the plan; jobs on other machines make it anew from what Snakemake hands on.
    settings.configfile, settings.config = [plan.overrides_file.absolute()], []
    Plan.current = plan
    _let_cache()
    explained = partial(explain, plan=plan, settings=settings)
    tidies = any(getattr(settings, name, False) for name in _TIDYING)
    writes = makes_files(list(others))
    if tidies and writes:
        plan.lock_results()
    if tidies or not writes:
        with one_line_errors(explained), translated(explained):
            ended = _ended(settings, parser, plan)
        if ended and settings.dryrun and not tidies and plan.workflow is not None and len(plan.workflow.dag):
            from svmrepro.workflow.running.run_cost import RunCost

            print(RunCost(plan).text())
        return 0 if ended else 1
    return _watched(plan, settings, parser, explained)


def _enter_folder(settings: argparse.Namespace) -> None:
    """Change to the folder of ``--directory``, if it is given, and make paths valid there."""
    if settings.report:
        settings.report = callers_folder.output_path(settings.report)
    if settings.directory:
        settings.snakefile = Path(settings.snakefile).absolute()
        settings.report = settings.report and settings.report.absolute()
        folder = callers_folder.output_path(settings.directory)
        folder.mkdir(parents=True, exist_ok=True)
        os.chdir(folder)
        settings.directory = None


def _ended(settings: argparse.Namespace, parser: argparse.ArgumentParser, plan: Any) -> bool:
    """Call Snakemake, which also reports success when files of ``--wait-for-files`` have not come."""
    from snakemake.cli import args_to_api

    ended = bool(args_to_api(settings, parser))
    waited = settings.wait_for_files or settings.wait_for_files_file
    return ended and not (waited and plan.workflow is not None and plan.workflow.dag is None)


def _let_cache() -> None:
    """Keep caches in the current folder if Snakemake, which needs one, cannot write into the home folder."""
    from snakemake.common import get_appdirs

    folder = Path(get_appdirs().user_cache_dir, "snakemake", "source-cache")
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        os.environ["XDG_CACHE_HOME"] = str(Path(".snakemake", "cache").absolute())


def _watched(
    plan: Any,
    settings: argparse.Namespace,
    parser: argparse.ArgumentParser,
    explained: Callable[[str], str],
) -> int:
    """Run jobs, and show where they stand."""
    from svmrepro.workflow.journal.own_solvers import failures
    from svmrepro.workflow.measurement.channel import receiver
    from svmrepro.workflow.running.engine_errors import translated
    from svmrepro.workflow.running.run_progress import RunProgress, open_errors
    from svmrepro.workflow.running.snakemake_log import install
    from svmrepro.workflow.running.status_line import StatusLine
    from svmrepro.workflow.steps._command_line import ANSWERS
    from svmrepro.workflow.steps.closing import closing

    output = paths.output_log(plan.config)
    with _output_in(output) as stream, tempfile.TemporaryDirectory(prefix="svmrepro-") as folder:
        line = StatusLine(stream, lambda: progress.state())
        errors = open_errors(output)
        progress = RunProgress(plan, line.say, errors, explained)
        terminated: list[int] = []

        def begin() -> None:
            _explain_termination(line.say, terminated, progress.terminate)
            progress.begin()

        plan.tell, plan.on_start = line.say, begin
        settings.logger = [install(progress.event)]
        os.environ[ANSWERS] = folder
        line.start()
        try:
            with (
                _interrupts(progress.stop) as interrupted,
                receiver(progress.message),
                translated(explained),
            ):
                plan.lock_results()
                errors()  # of the run that this one waited for
                ended = _ended(settings, parser, plan)
        except SystemExit as error:
            raise StepError(str(error).removeprefix("error: ")) from None
        finally:
            line.close()
            del os.environ[ANSWERS]
        answer = answers_to(settings.targets, Path(folder))
    if interrupted:
        raise KeyboardInterrupt
    if answer:
        print(answer, end="", flush=True)
    if terminated and not ended and not progress.jobs_failed:
        print(STOPPED, file=sys.stderr)
        return 128 + terminated[0]
    if progress.nothing:
        print("Nothing to do: everything requested is up to date.")
    if ended and not answer:
        print(closing(plan.config, progress.experiments()), flush=True)
        failed = failures(plan.config, progress.experiments())
        for text, always in failed.items():
            print(f"error: {text}" if always else text, file=sys.stderr)
        return int(any(failed.values()))
    if not ended and not answer and progress.jobs_failed:
        print(
            f"failed: {_log_hint(plan, output)}; the same command retries only what is missing",
            file=sys.stderr,
        )
    return 0 if ended else 1


def answers_to(targets: Iterable[str], folder: Path) -> str:
    """Return what the steps of the targets have written into the folder of answers."""
    steps = {"check" if target == "reference" else target for target in targets}
    answers = [path for path in sorted(folder.iterdir()) if path.name in steps]
    return "".join(path.read_text(encoding="utf-8") for path in answers)


def _log_hint(plan: Any, output: Path) -> str:
    files = plan.workflow.logger_manager.get_logfile() if plan.workflow is not None else []
    logs = [str(paths.relative(Path(file))) for file in files]
    return " and ".join([f"all messages are in {output}", *logs])


def _explain_termination(say: Callable[[str], None], met: list[int], terminate: Callable[[], None]) -> None:
    """At SIGTERM, record it and say what Snakemake, whose handler is in place by now, does about it."""
    import signal

    finish = signal.getsignal(signal.SIGTERM)

    def handler(number: int, frame: Any) -> None:
        met.append(number)
        terminate()
        if callable(finish):
            finish(number, frame)
        if len(met) == 1:
            say("stopping when the steps under way have ended; Ctrl-C or kill -INT stops at once")

    signal.signal(signal.SIGTERM, handler)


@contextlib.contextmanager
def _interrupts(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Record interrupts, which Snakemake reports as failures, and call `stop` at the first.

    Snakemake waits for the steps under way. `kill -INT` does not reach them, so that those that have not
    ended after `GRACE` seconds are interrupted from here. A second interrupt while jobs are being stopped
    changes nothing; a third one ends the process.
    """
    import signal
    import threading

    met: list[int] = []
    later = threading.Timer(GRACE, _interrupt_steps)
    later.daemon = True

    def handler(number: int, frame: Any) -> None:
        met.append(number)
        if len(met) == 1:
            stop()
            later.start()
            signal.default_int_handler(number, frame)
        elif len(met) > 2:
            os._exit(130)

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield met
    except (Exception, KeyboardInterrupt):
        if not met:
            raise
        # The interrupt itself, or an error while Snakemake is being stopped; the output goes to the log.
        traceback.print_exc()
    finally:
        later.cancel()
        signal.signal(signal.SIGINT, before)


def _interrupt_steps() -> None:
    import signal

    import psutil

    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGINT)


@contextlib.contextmanager
def _output_in(file: Path) -> Iterator[TextIO]:
    """Send all output of this process and its children to a file; yield the error stream as it was.

    A file, not a pipe: steps may outlive this process and must not fail for lack of a reader.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise StepError(f"cannot write {one_line(error)}") from error
    kept = [os.dup(number) for number in (1, 2)]
    for number in (1, 2):
        os.dup2(target, number)
    os.close(target)
    stream = os.fdopen(os.dup(kept[1]), "w", encoding="utf-8", errors="replace")
    try:
        yield stream
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, old in zip((1, 2), kept, strict=True):
            os.dup2(old, number)
            os.close(old)
        stream.close()


def _layers(given: argparse.Namespace, settings: argparse.Namespace) -> list[Layer]:
    """Return the layers of settings, each with its source: files, ``--config``, ``--scale``."""
    from snakemake.cli import parse_config
    from snakemake.utils import update_config
    from svmrepro.workflow.configuration.plain_yaml import read_yaml

    layers: list[Layer] = []
    for file in settings.configfile or ():
        layers.append((str(file), read_yaml(callers_folder.input_path(file))))
        if not layers[-1][1]:
            raise StepError(f"{file}: holds no keys, so it would change nothing")
    chosen: dict[str, Any] = {}
    for entry in settings.config or ():
        key, sign, _ = entry.partition("=")
        try:
            update_config(chosen, parse_config([entry]))
        except ValueError as error:
            what = f"{key!r}: unknown key" if sign else f"{entry!r} is not of the form KEY=VALUE"
            raise StepError(f"--config: {what}") from error
    if isinstance(against := chosen.get("against"), str):
        chosen["against"] = _found(against, settings)
    layers.append((COMMAND_LINE, chosen))
    if given.scale is not None:
        layers.append(("--scale", {"scale": given.scale}))
    return layers


def _compare_layer(runs: Sequence[str], layers: Iterable[Layer], settings: argparse.Namespace) -> Layer:
    """Return the setting of the other run, which the command line must name only once."""
    option = next((layer.get("against") for source, layer in layers if source == COMMAND_LINE), None)
    every = {_found(run, settings): run for run in [*runs, *([str(option)] if option else [])]}
    if len(every) > 1:
        words = " ".join(every.values())
        raise StepError(f"compare: one other run is compared, not {len(every)}: {words}")
    return "the command line", {"against": _found(runs[0], settings)}


def _is_paper(word: str) -> bool:
    """Whether a word is the name of a paper, also of one that is not part of the scale."""
    return "/" not in word and (config_dir() / "experiments" / f"{word}.yaml").is_file()


def _is_run(word: str) -> bool:
    """Whether a word is meant as another run and no target: a folder, an archive or a URL."""
    return "/" in word or word.lower().endswith(".zip") or callers_folder.input_path(word).exists()


def _found(run: str, settings: argparse.Namespace) -> str:
    """Return another run's URL, or its path from the folder in which the workflow will run."""
    if "://" in run:
        return run
    path = callers_folder.input_path(run)
    return str(path.absolute() if settings.directory else path)


def _parsed(words: Sequence[str]) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Return Snakemake's parser and what it makes of the words; a wrong option raises a StepError."""
    from snakemake.cli import get_argument_parser, parse_args
    from svmrepro.workflow.running.engine_options import refusal

    refuse_repeated(get_argument_parser(), words)
    own = []
    if "--snakefile" not in words:
        # An installed package has no Snakefile above its folders.
        file = ROOT / "Snakefile"
        file = file if file.is_file() else ROOT / "workflow" / "Snakefile"
        own += ["--snakefile", str(paths.relative(file))]
    if "--workflow-profile" not in words:
        own += ["--workflow-profile", str(ROOT / "profiles" / "default")]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser, settings = parse_args([*own, *words])
    except SystemExit as error:
        if not error.code:  # help or version
            raise
        last = said.getvalue().strip().splitlines()[-1]
        what = last.partition(": error: ")[2] or last.removeprefix("Error: ")
        if "--executor" in what and (executor := re.search(r"invalid choice: '([a-z-]+)'", what)):
            plugin = f"`./run pip install snakemake-executor-plugin-{executor[1]}`"
            what = f"--executor: {executor[1]!r} is not installed; {as_called(plugin)} may add it"
        raise StepError(
            f"{what.removesuffix('.')}; see `svmrepro run --help` and `snakemake --help`"
        ) from None
    except Exception as error:  # the parser converts values itself without catching errors
        raise StepError(f"{refusal(error).removesuffix('.')}; see `snakemake --help`") from None
    profile = settings.workflow_profile
    if profile and profile != "none" and not Path(profile).exists():
        raise StepError(f"--workflow-profile: {profile} is not a folder")
    if settings.cores is not None and settings.cores < 1:
        raise StepError(f"--cores: must be positive, not {settings.cores}")  # Snakemake would wait for ever
    return parser, settings
