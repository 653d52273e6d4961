"""What the Snakefile asks at parse time.

It also writes the configuration that the steps read, locks the results folder, and unpacks the archive of
a run to compare with.

Kept light, because it runs before every command.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from svmrepro.workflow import fingerprints
from svmrepro.workflow.archives import run_folder
from svmrepro.workflow.configuration import (
    ROOT,
    Artefact,
    Config,
    dump_config,
    load_config,
    merged,
    paths,
)
from svmrepro.workflow.configuration.artefact_kinds import ARTEFACT_KINDS
from svmrepro.workflow.configuration.jobs import Job, jobs
from svmrepro.workflow.configuration.model import Layer
from svmrepro.workflow.configuration.needs import combinations, data_sets
from svmrepro.workflow.configuration.of_folder import RUNS
from svmrepro.workflow.errors import StepError, cause
from svmrepro.workflow.files import atomic_write, check_writable
from svmrepro.workflow.fingerprints import digest
from svmrepro.workflow.graph.targets import RULES
from svmrepro.workflow.locks import lock
from svmrepro.workflow.measurement.data_sets import check_own_data_sets, register


class Plan:
    """A configuration and the files that follow from it.

    The first arguments are those of `load_config`. In a job's own process, which is not the ``main`` one, the
    setting ``against`` stays as it is: no job needs the other run, and a node may have no network.
    """

    #: The plan of the command of ``svmrepro`` that runs in this process, if there is one.
    current: Plan | None = None

    def __init__(
        self, overrides: Mapping[str, Any] | Sequence[Layer], folder: Path | None = None, main: bool = True
    ) -> None:
        self.config: Config = load_config(overrides, folder)
        register(self.config)
        check_own_data_sets(self.config)
        settings = merged(overrides)
        if self.config.against is not None and main:
            other = run_folder(self.config.against, paths.others(self.config))
            paths.papers_in(other)
            self.config = replace(self.config, against=str(other))
            settings["against"] = str(other)  # a nested Snakemake must not download an archive again
        #: Start time of this command, in seconds since the epoch.
        self.began = time.time()
        folder = paths.results(self.config) / ".config"
        text = dump_config(self.config)
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        #: The configuration file that the steps read. It is named by its content, so that a later command
        #: does not disturb a run in progress.
        self.file = folder / f"{name}.json"
        said = json.dumps(settings) + "\n"
        own = hashlib.sha256(said.encode()).hexdigest()[:12]
        #: The command line's settings, for the Snakemake processes that rules start. Other settings may give
        #: the same configuration now, but not after a change of the files in `config/`.
        self.overrides_file = folder / f"{name}-{own}.overrides.json"
        for file, content in ((self.file, text), (self.overrides_file, said)):
            if not file.is_file():
                atomic_write(file, content)
        self._jobs: dict[tuple[str, str], dict[str, Job]] = {}
        self._held = ExitStack()
        #: Where messages go, and the workflow that the Snakefile made of this plan.
        self.tell: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
        self.workflow: Any = None
        #: Called with the jobs when they start.
        self.on_start: Callable[[], None] = lambda: None

    def lock_results(self) -> None:
        """Wait until no other run uses this scale's results folder, then lock it.

        The operating system releases the lock when this process ends, even if it is killed. A folder that
        cannot be written, claims that cannot be read, or a mirror that does not exist raises a StepError now,
        not hours later.
        """
        # Imported late: it takes a moment, which building the graph can skip.
        from svmrepro.workflow.judgement.claims import all_claims

        self.check_mirror()
        all_claims(self.config)
        # The data folder is not checked: it may be complete and read-only.
        for folder in (self.config.results_dir, self.config.figures_dir):
            check_writable(folder)
        # An existing folder of compiled code is not checked either.
        folder = fingerprints.compiled_dir()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot make {folder}: {cause(error)}"
            raise StepError(f"{what} (compiled code; variable NUMBA_CACHE_DIR)") from error
        self._held.enter_context(lock(paths.run_lock_file(self.config), self._waiting))
        with suppress(OSError), self.file.with_name(RUNS).open("a") as runs:  # of another user's file
            runs.write(f"{self.file.name}\n")

    def check_places(self, moved: Callable[[str], str]) -> None:
        """Raise a StepError if ``moved``, a module's change of paths, moves files, which the steps ignore."""
        config = self.config
        places = [f"{folder}/" for folder in (config.results_dir, config.figures_dir, config.data_dir)]
        if any(moved(place) != place for place in places):
            keys = "results_dir, figures_dir and data_dir"
            raise StepError(f"a module cannot have prefix or replace_prefix; its config has {keys} instead")

    def check_mirror(self) -> None:
        """Raise a StepError if the mirror is neither an address nor a folder."""
        mirror = self.config.mirror
        if mirror and not mirror.startswith(("http://", "https://")) and not Path(mirror).is_dir():
            what = "not an http(s) address" if "://" in mirror else "not a folder"
            raise StepError(f"mirror: {mirror} is {what} (key mirror, or variable SVMREPRO_MIRROR)")

    def _waiting(self, owner: str) -> None:
        folder = paths.results(self.config)
        self.tell(f"waiting: {folder} is in use by the run of {owner}; this run starts when that one ends")

    @cached_property
    def steps(self) -> dict[str, str]:
        """The beginning of each step's command line, quoted for a shell."""
        python, config = quote(sys.executable), quote(str(self.file))
        source = ROOT / "workflow" / "from_source.py"
        installed = getattr(sys.modules["svmrepro"], "__spec__", None) is not None
        if self._in_conda():
            python, installed = "python", False
        call = f"{python} -m svmrepro.workflow.steps." if installed else f"{python} {quote(str(source))} "
        names = [file.stem for file in (ROOT / "workflow" / "steps").glob("[!_]*.py")]
        return {name: f"{call}{name} --config {config}" for name in names}

    def _in_conda(self) -> bool:
        """Whether the rules run in their conda environment, which holds all packages except this one."""
        settings = getattr(self.workflow, "deployment_settings", None)
        methods = getattr(settings, "deployment_method", None) or ()
        return "conda" in {str(getattr(method, "name", method)).lower() for method in methods}

    @cached_property
    def snakemake(self) -> str:
        """The beginning of the command line of a nested Snakemake with the same settings."""
        settings = quote(str(self.overrides_file))
        return f"{quote(sys.executable)} -m snakemake --cores 1 --configfile {settings}"

    @cached_property
    def report_files(self) -> list[str]:
        """Captions and stylesheet of the report."""
        return _shown((ROOT / "workflow" / "report").iterdir())

    @property
    def report_text(self) -> str:
        """The text of the report's first page, with the verdicts once they exist."""
        made = paths.report_text(self.config)
        return str(made.absolute() if made.is_file() else ROOT / "workflow/report/workflow.rst")

    @cached_property
    def stylesheet(self) -> str:
        """The report's stylesheet."""
        return next(file for file in self.report_files if file.endswith(".css"))

    def code(self, module: str) -> str:
        """Return the fingerprint of a step's source, such as ``steps.plot``."""
        return fingerprints.step_fingerprint(module)

    def artefacts_code(self, artefacts: Sequence[Artefact]) -> str:
        """Return the fingerprint of the source that makes the given artefacts, which share one form."""
        step = "steps.tabulate" if artefacts[0].form == "table" else "steps.plot"
        known = ARTEFACT_KINDS[artefacts[0].form]
        kinds = sorted({known[each.kind].partition(":")[0] for each in artefacts if each.kind in known})
        code = fingerprints.step_fingerprint(step, *kinds)
        return f"{code} {fingerprints.templates_fingerprint()}" if step == "steps.tabulate" else code

    # -- data and code ------------------------------------------------------------------------------

    @cached_property
    def downloads(self) -> list[str]:
        """Data sets that are downloaded, and users' own files."""
        from svmrepro import datasets

        return [name for name in data_sets(self.config) if not datasets.is_generated(name)]

    @cached_property
    def generated(self) -> list[str]:
        """Data sets that are generated."""
        return [name for name in data_sets(self.config) if name not in self.downloads]

    def marker(self, dataset: str) -> str:
        """Return the file that says whether a data set is available."""
        return str(paths.marker(self.config, dataset))

    @cached_property
    def sources_fingerprint(self) -> str:
        """Fingerprint of the data sources and of the code that reads them."""
        return fingerprints.step_fingerprint("steps.fetch") + fingerprints.registry_fingerprint()

    def combinations(self, paper: str) -> list[str]:
        """Return what a paper needs compiled: solver, kernel and storage, joined into one text each."""
        return [" ".join(parts) for parts in combinations(self.config.papers[paper])]

    @cached_property
    def compiled_file(self) -> str:
        """The pattern of `compiled`, with wildcards."""
        folder = fingerprints.compiled_dir()
        shown = Path(os.path.relpath(folder))
        return str((folder if shown.parts[0] == ".." else shown) / "{paper}-{combinations}.txt")

    @cached_property
    def compiled(self) -> dict[str, str]:
        """The marker file of each paper, written once all its combinations are compiled."""
        keys = {paper: digest(self.combinations(paper))[:12] for paper in self.config.papers}
        return {
            paper: self.compiled_file.format(paper=paper, combinations=key) for paper, key in keys.items()
        }

    # -- measurements -------------------------------------------------------------------------------

    def jobs(self, paper: str, experiment: str) -> dict[str, Job]:
        """Return the jobs of an experiment by name."""
        key = (paper, experiment)
        if key not in self._jobs:
            found = jobs(self.config, self.config.experiment(*key))
            self._jobs[key] = {job.name: job for job in found}
        return self._jobs[key]

    def job_inputs(self, wildcards: Any) -> dict[str, Any]:
        """Return the inputs of a job: its data, the compiled code, and the job of the next smaller size."""
        experiment = self.config.experiment(wildcards.paper, wildcards.experiment)
        job = self.jobs(wildcards.paper, wildcards.experiment)[wildcards.job]
        needed: dict[str, Any] = {
            "data": self.marker(experiment.dataset),
            "compiled": self.compiled[wildcards.paper],
        }
        if experiment.test is not None and experiment.test.dataset is not None:
            needed["test"] = self.marker(experiment.test.dataset)
        if job.after is not None:
            before = paths.job_file(self.config, wildcards.paper, wildcards.experiment, job.after)
            needed["smaller"] = str(before)
        return needed

    def rows_fingerprint(self, paper: str, experiments: Iterable[str]) -> str:
        """Hash what the given experiments must measure.

        Every rule that uses their measurements has this hash as a parameter. When a job fails, Snakemake
        deletes its old output, but does not notice that the output is missing as long as files made from it
        exist. Without the parameter, the next command would find nothing to do.
        """
        return digest([job.fingerprint() for name in experiments for job in self.jobs(paper, name).values()])

    def job_files(self, paper: str, experiment: str) -> list[str]:
        """Return the files of an experiment's jobs."""
        return [str(path) for path in paths.job_files(self.config, paper, experiment)]

    # -- analysis -----------------------------------------------------------------------------------

    def analyses(self, paper: str, experiments: Iterable[str]) -> list[str]:
        """Return the files of measurements, fits and ratios of the given experiments."""
        return [
            str(path(self.config, paper, experiment))
            for experiment in experiments
            for path in (paths.measurements, paths.fits, paths.ratios)
        ]

    def paper_numbers(self, paper: str) -> list[str]:
        """Return the files of a paper's printed numbers."""
        return _shown(self.config.described("papers", paper).glob(f"{paper}_*.csv"))

    def artefact_inputs(self, paper: str, artefact: Artefact) -> list[str]:
        """Return an artefact's inputs: analyses or a data set, and the paper's printed numbers."""
        if "dataset" in artefact.settings:
            return [self.marker(artefact.settings["dataset"]), *self.paper_numbers(paper)]
        if not artefact.measured:
            return [self.compiled[paper], *self.paper_numbers(paper)]
        claims = self.config.described("claims", paper) / f"{paper}.yaml"
        return [
            *self.analyses(paper, artefact.experiments),
            *self.paper_numbers(paper),
            *(_shown([claims]) if artefact.kind == "claims" else []),
        ]

    def artefacts_fingerprint(self, paper: str, artefacts: Sequence[Artefact]) -> str:
        """Hash what must be measured for the given artefacts, or the solvers that they run themselves."""
        return digest([self._artefact_fingerprint(paper, artefact) for artefact in artefacts])

    def _artefact_fingerprint(self, paper: str, artefact: Artefact) -> str:
        if artefact.measured:
            return self.rows_fingerprint(paper, artefact.experiments)
        solvers = artefact.settings.get("solvers", {}).values()
        return digest([fingerprints.solver_fingerprint(solver) for solver in solvers]) if solvers else ""

    def artefact_files(self, paper: str, artefact: Artefact) -> dict[str, str]:
        """Return the files of an artefact by form."""
        files = paths.artefact(self.config, paper, artefact)
        return {form: str(path) for form, path in files.items()}

    def artefacts(self, form: str) -> list[tuple[str, list[Artefact]]]:
        """Return the artefacts of one form (table or figure) with the names of their papers.

        Those with the same inputs are grouped: one process makes them.
        """
        found: dict[tuple[str, ...], tuple[str, list[Artefact]]] = {}
        for paper in self.config.papers.values():
            for artefact in paper.artefacts.values():
                if artefact.form == form:
                    key = (paper.name, *self.artefact_inputs(paper.name, artefact))
                    found.setdefault(key, (paper.name, []))[1].append(artefact)
        return list(found.values())

    def maker(self, paper: str, artefacts: Sequence[Artefact]) -> str:
        """Return the name of the rule that makes the given artefacts."""
        first = artefacts[0]
        own = self.target(paper, first.name)
        return own if len(artefacts) == 1 else f"{paper}-{first.form}s-from-{first.name}"

    def settings_fingerprint(self, paper: str, artefacts: Sequence[Artefact]) -> str:
        """Hash the configuration entries of the given artefacts, including titles and captions.

        Of their experiments, it hashes what tables and verdicts show of them and no measurement has.
        """
        known = ("name", "title", "caption", "kind", "experiments")
        entries = [{key: getattr(each, key) for key in known} | each.settings for each in artefacts]
        names = sorted({name for each in artefacts for name in each.experiments})
        shown = [self.config.experiment(paper, name) for name in names]
        said = [[each.title, each.stand_in_for, each.nested, each.paper_sizes] for each in shown]
        return digest([entries, said])

    def subcategory(self, paper: str, artefact: Artefact) -> str:
        """Return the report heading under which an artefact is listed."""
        if artefact.single and artefact.measured:
            return self.config.experiment(paper, artefact.experiments[0]).title
        return "All experiments"

    # -- targets ------------------------------------------------------------------------------------

    def paper_files(self, paper: str) -> list[str]:
        """Return all final files of a paper."""
        joined = [path(self.config, paper) for path in (paths.measurements, paths.fits, paths.ratios)]
        found = self.config.papers[paper]
        files = [
            file
            for artefact in found.artefacts.values()
            for file in self.artefact_files(paper, artefact).values()
        ]
        lines = [file for experiment in found.experiments for file in self.job_files(paper, experiment)]
        return [*lines, *self.analyses(paper, found.experiments), *map(str, joined), *files]

    def experiment_files(self, paper: str, experiment: str) -> list[str]:
        """Return the final files that depend on one experiment alone."""
        own = [
            file
            for artefact in self.config.papers[paper].artefacts.values()
            if artefact.experiments == (experiment,) and "dataset" not in artefact.settings
            for file in self.artefact_files(paper, artefact).values()
        ]
        return [*self.job_files(paper, experiment), *self.analyses(paper, [experiment]), *own]

    def files(self) -> list[str]:
        """Return the files that can be requested: of data, compiled code, and all papers."""
        found = [self.marker(name) for name in data_sets(self.config)]
        found += [*self.compiled.values(), str(paths.report(self.config))]
        for paper in self.config.papers:
            found += self.paper_files(paper)
        return list(dict.fromkeys(found))

    def target(self, paper: str, name: str) -> str:
        """Return the target of an experiment or artefact: its name, or ``<paper>-<name>`` if it is taken."""
        owners = sum(
            (name in other.experiments) + (name in other.artefacts) for other in self.config.papers.values()
        )
        taken = owners > 1 or name in self.config.papers or name in RULES
        return f"{paper}-{name}" if taken else name

    def targets(self) -> list[str]:
        """Return the names that can be requested: papers, experiments, tables, figures and rules."""
        found = [*RULES, *self.config.papers]
        for name, paper in self.config.papers.items():
            found += [self.target(name, each) for each in (*paper.experiments, *paper.artefacts)]
        for form in ("table", "figure"):
            found += [self.maker(paper, artefacts) for paper, artefacts in self.artefacts(form)]
        return found


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches exactly the given names."""
    return "|".join(re.escape(name) for name in names) or "(?!)"  # which matches nothing


def _shown(files: Iterable[Path]) -> list[str]:
    """Return the paths, relative to the working folder if they lie below it."""
    return sorted(str(paths.relative(path)) for path in files)
