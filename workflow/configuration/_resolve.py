"""From configuration files to checked records: merge layers; check names, sizes and options."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec import UNSET, UnsetType, to_builtins
from svmrepro import datasets
from svmrepro.datasets.input_checks import Fault, check_known, convert, shown, under
from svmrepro.solvers import MEASURES, SOLVERS, STORAGES, Kernel, user_functions
from svmrepro.solvers.user_functions import UserSolverError
from svmrepro.workflow.configuration._layers import Layers
from svmrepro.workflow.configuration.artefact_kinds import ARTEFACT_KINDS
from svmrepro.workflow.configuration.artefact_settings import settings_of
from svmrepro.workflow.configuration.callers_folder import expanded
from svmrepro.workflow.configuration.model import (
    COMMAND_LINE,
    DEFAULT_SCALE,
    Artefact,
    Config,
    Contender,
    Experiment,
    Grid,
    HeldOut,
    Layer,
    Number,
    OwnFile,
    Paper,
    config_dir,
    protocol_of,
    scales,
)
from svmrepro.workflow.configuration.plain_yaml import plain, read_yaml
from svmrepro.workflow.configuration.settings import (
    ArtefactSettings,
    ContenderSettings,
    OwnData,
    PaperFile,
    Settings,
    WholeExperiment,
    given,
)
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.fingerprints import solver_fingerprint

#: Names reserved in the folder of a scale.
RESERVED_PAPERS = frozenset({"compare", "journal", "logs"})

#: Names reserved in the folder of a paper: those of files that the step `collect` writes.
RESERVED_TABLES = frozenset({"measurements", "fits", "ratios"})

#: Stopping tolerance if an experiment sets none; all the papers use it.
DEFAULT_EPS = 1e-3


def load(overrides: Sequence[Layer], folder: Path) -> Config:
    """Do the work of :func:`svmrepro.workflow.configuration.loading.load_config`."""
    changes = Layers()
    for origin, layer in overrides:
        try:
            changes.add(plain(layer, words=origin == COMMAND_LINE), origin)
        except ValueError as error:
            raise StepError(f"{origin}: {error}") from error
    layers = Layers()
    base = _read(folder / "config.yaml")
    layers.add(base, _shown(folder / "config.yaml"))
    if changes.content.keys() >= base.keys():
        # A workflow that uses this one as a module hands over all of config.yaml, with its own changes.
        changes = changes.beyond(base)
    _sizes_alone(changes.content)
    scale = changes.content.get("scale", DEFAULT_SCALE)
    if scale != DEFAULT_SCALE:
        path = _scale_file(folder, scale, changes)
        layers.add({**_read(path), "scale": scale}, _shown(path))
    whole = layers.content.get("papers")
    layers.graft(changes, (), ())
    settings = layers.convert(Settings)
    files = {path.stem: path for path in (folder / "experiments").glob("*.yaml")}
    papers = {}
    try:
        for position, name in enumerate(settings.papers):
            check_known(name, files, "paper", "papers", position)
            if name in RESERVED_PAPERS:
                raise Fault(("papers", position), f"{name!r} is the name of a folder of the results")
            papers[name] = _paper(files[name], layers, settings)
        for key in ("experiments", "contenders"):
            for name in getattr(settings, key):
                check_known(name, files, "paper", key, name)
        if settings.baseline is not None:
            every = [each for paper in papers.values() for each in paper.experiments.values()]
            known = {label for experiment in every for label in experiment.contenders}
            check_known(settings.baseline, sorted(known), "contender", "baseline")
    except Fault as fault:
        raise layers.error(fault.at, fault.what) from None
    return Config(
        scale=settings.scale,
        require_data=settings.require_data,
        require_complete=settings.require_complete,
        timed_jobs=settings.timed_jobs,
        job=settings.job,
        pin=settings.pin,
        shuffle=settings.shuffle,
        count_instructions=settings.count_instructions,
        against=None if settings.against is None else expanded(settings.against),
        data_dir=Path(expanded(settings.data_dir)),
        results_dir=Path(expanded(settings.results_dir)),
        figures_dir=Path(expanded(settings.figures_dir)),
        mirror=expanded(settings.mirror or os.environ.get("SVMREPRO_MIRROR") or "") or None,
        datasets={name: _own_file(entry) for name, entry in settings.datasets.items()},
        papers=papers,
        folder=None if folder.resolve() == config_dir() else folder,
        partial=isinstance(whole, list) and not {*map(str, whole)} <= papers.keys(),
    )


def _read(path: Path) -> Mapping[str, Any]:
    """Return the content of a configuration file, which is read again only if it has changed.

    Layers copy its mappings; nothing changes its lists.
    """
    try:
        text = path.read_bytes()
    except OSError:
        return read_yaml(path)  # for its error
    return _read_once(path, text)


@lru_cache(32)
def _read_once(path: Path, text: bytes) -> Mapping[str, Any]:
    return read_yaml(path)


def _sizes_alone(settings: dict[str, Any]) -> None:
    """Remove nested sizes from experiments whose sizes are set on the command line."""
    papers = settings.get("experiments")
    for changes in papers.values() if isinstance(papers, dict) else ():
        for entry in changes.values() if isinstance(changes, dict) else ():
            if isinstance(entry, dict) and "sizes" in entry:
                entry.setdefault("nested", [])


def _own_file(entry: OwnData) -> OwnFile:
    """Return a user's own data set; a label that can be read as a number is one."""
    labels = {-1: -1, 1: 1} if entry.labels is None else entry.labels
    signs = tuple((_label(label), float(sign)) for label, sign in labels.items())
    test = entry.test and expanded(entry.test)
    return OwnFile(expanded(entry.path), entry.format, signs, entry.label, entry.features, test)


def _label(label: str | float) -> str | float:
    with suppress(ValueError):
        return float(label)
    return label


def _scale_file(folder: Path, scale: object, changes: Layers) -> Path:
    """Return the file of a scale; if there is none, the error lists the scales."""
    try:
        check_known(scale if isinstance(scale, str) else shown(scale), scales(folder), "scale", "scale")
    except Fault as fault:
        raise changes.error(fault.at, fault.what) from None
    return folder / f"{scale}.yaml"


def _shown(path: Path) -> str:
    """Return the usual short form of a configuration file's path: ``config/smoke.yaml``."""
    return "/".join(path.parts[-3:] if path.parent.name == "experiments" else path.parts[-2:])


def _title(name: str, entry: object) -> str:
    """Return the title of an experiment's entry that is not validated, or else its name."""
    return str(entry.get("title", name)) if isinstance(entry, dict) else name


def _paper(path: Path, above: Layers, settings: Settings) -> Paper:
    """Read a paper's file, with the configuration's overrides merged in."""
    file, layers = Layers(), Layers()
    file.add(_read(path), _shown(path))
    # Not validated yet, because validation follows the merge.
    entries = file.content.get("experiments")
    entries = entries if isinstance(entries, dict) else {}
    paper_sizes = {name: _whole_numbers(entry) for name, entry in entries.items()}
    for name in settings.experiments.get(path.stem) or {}:
        check_known(name, paper_sizes, "experiment", "experiments", path.stem, name)
    # The paper's contenders take part in each experiment; the experiment's own entries override theirs.
    everywhere = [
        ("experiments", name, "contenders") for name, entry in entries.items() if isinstance(entry, dict)
    ]
    for place in everywhere:
        layers.graft(file, ("contenders",), place)
    layers.graft(file, (), ())
    # An entry without a solver changes a contender in those experiments that have it.
    merged = {place: layers.content["experiments"][place[1]].get("contenders") for place in everywhere}
    labels = {place: set(each) if isinstance(each, dict) else set() for place, each in merged.items()}
    joining = {
        label
        for label, each in (settings.contenders.get(path.stem) or {}).items()
        if each is None or each.solver is not UNSET
    }
    changed = set().union(*labels.values()) - joining
    for place in everywhere:
        layers.graft(above, ("contenders", path.stem), place, without=changed - labels[place])
    layers.graft(above, ("experiments", path.stem), ("experiments",))
    content = layers.convert(PaperFile)
    try:
        if content.paper != path.stem:
            raise Fault(("paper",), f"must be the file's name, {path.stem!r}")
        experiments = {}
        for name, entry in content.experiments.items():
            if entry is not None:
                kernel = dict(layers.content["experiments"][name]["kernel"])
                with under("experiments", name):
                    experiments[name] = _experiment(name, entry, kernel, path.stem, settings, entries[name])
        artefacts = _artefacts(
            content.artefacts, layers.content["artefacts"], experiments, list(paper_sizes), settings.baseline
        )
    except Fault as fault:
        raise layers.error(fault.at, fault.what) from None
    left_out = {name: _title(name, entry) for name, entry in entries.items() if name not in experiments}
    return Paper(content.paper, content.title, experiments, artefacts, left_out)


def _whole_numbers(entry: Any) -> list[int]:
    """Return the sizes in an experiment's entry that are integers."""
    sizes = entry.get("sizes") if isinstance(entry, dict) else None
    return [n for n in sizes if isinstance(n, int)] if isinstance(sizes, list) else []


def _experiment(
    name: str,
    entry: WholeExperiment,
    mapping: dict[str, Any],
    paper: str,
    settings: Settings,
    of_file: Any,
) -> Experiment:
    """Build an experiment from its merged entry; ``of_file`` is that of the paper's file alone."""
    own = settings.datasets
    check_known(entry.dataset, [*datasets.names(), *own], "data set", "dataset")
    grid = _grid(entry)
    if grid is not None:
        mapping = {**mapping, "gamma": grid.gamma[-1]}
    kernel = _kernel(entry, mapping)
    if entry.encoding is not None:
        check_known(entry.encoding, datasets.ENCODINGS, "encoding", "encoding")
    _steps(entry.iteration_limit)
    contenders = _contenders(entry, settings, kernel, in_grid=grid is not None)
    permutations = given(entry.permutations, None)
    override = (settings.experiments.get(paper) or {}).get(name)
    # Settings for this particular experiment take precedence over the scale's maximum.
    asked = override is not None and override.permutations is not UNSET
    if permutations is not None and settings.most_permutations is not None and not asked:
        permutations = min(permutations, settings.most_permutations)
    sizes, nested, paper_sizes = _sizes(entry, own, _whole_numbers(of_file))
    axis, points = _axis(entry)
    test = _test(entry, own, max(sizes))
    if test is not None and any(each.encoding for each in contenders.values()):
        raise Fault(("measures",), "encodings are made of training rows: drop measures or encoding")
    of_file_dataset = of_file.get("dataset") if isinstance(of_file, dict) else None
    stand_in = entry.stand_in_for or _stand_in(entry.dataset, of_file_dataset, own)
    return Experiment(
        name=name,
        paper=paper,
        title=f"{entry.title} (stand-in)" if stand_in else entry.title,
        dataset=entry.dataset,
        kernel=mapping,
        C=_float(entry.C) if grid is None else grid.C[-1],
        C_total=_float(entry.C_total),
        eps=_float(entry.eps) or DEFAULT_EPS,
        sizes=sizes,
        nested=nested,
        paper_sizes=paper_sizes,
        seeds=_seeds(entry, own, permutations),
        repeats=given(entry.repeats, settings.repeats),
        repeat_budget=given(entry.repeat_budget, settings.repeat_budget),
        contenders=contenders,
        permutations=permutations,
        resample=entry.resample,
        axis=axis,
        points=points,
        measures=given(entry.measures, ()),
        test=test,
        grid=grid,
        trace=entry.trace,
        stand_in_for=stand_in,
        protocol=protocol_of(settings.pin, settings.shuffle),
    )


def _grid(entry: WholeExperiment) -> Grid | None:
    if isinstance(entry.grid, UnsetType):
        return None
    return Grid(tuple(sorted(map(float, entry.grid.C))), tuple(sorted(map(float, entry.grid.gamma))))


def _kernel(entry: WholeExperiment, mapping: Mapping[str, Any]) -> Kernel:
    with under("kernel"):
        check_known(given(entry.kernel.name, None), ("linear", "gaussian", "polynomial"), "kernel", "name")
        try:
            return Kernel.from_mapping(mapping)
        except ValueError as error:
            raise Fault((), str(error)) from error


def _contenders(
    entry: WholeExperiment, settings: Settings, kernel: Kernel, *, in_grid: bool
) -> dict[str, Contender]:
    """Return an experiment's contenders by label, without those that are set to null."""
    contenders = {}
    for label, each in entry.contenders.items():
        if each is not None:
            with under("contenders", label):
                made = contenders[label] = _contender(label, each, entry, settings, kernel)
                if made.warm and (not in_grid or ":" in made.solver or not SOLVERS[made.solver].starts):
                    raise Fault(("warm",), "needs a grid, and a solver that takes a start")
    return contenders


def _sizes(
    entry: WholeExperiment, own: Collection[str], of_file: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], dict[int, int]]:
    """Return all sizes, those between the requested ones, and the paper's size of each requested one.

    ``of_file`` are the sizes in the paper's file.
    """
    requested = _file_sizes("sizes", entry.sizes, entry.dataset, own)
    between = _file_sizes("nested", entry.nested, entry.dataset, own)
    of_paper = {}
    for n in of_file:
        with suppress(Fault):  # the settings may name a smaller data set than the paper's
            of_paper[_file_size(entry.dataset, n, own)] = n
    next_size = min((n for n in of_paper if n > max(requested)), default=max(requested))
    nested = {n for n in between if min(requested) < n < next_size} - set(requested)
    paper_sizes = {n: of_paper[n] for n in sorted(set(requested)) if n in of_paper}
    return tuple(sorted({*requested, *nested})), tuple(sorted(nested)), paper_sizes


def _stand_in(dataset: str, of_file: object, own: Collection[str]) -> str:
    """Return the data set for which this one stands in, "" if none.

    The registry says it of its own. A set in place of the one in the paper's file stands in for that.
    """
    if not isinstance(of_file, str) or of_file == dataset:
        return _registered_stand_in(dataset, own)
    of_paper = _registered_stand_in(of_file, own) or of_file
    return "" if dataset == of_paper else of_paper


def _registered_stand_in(dataset: str, own: Collection[str]) -> str:
    entry = datasets.describe(dataset) if dataset in datasets.names() and dataset not in own else None
    return "" if entry is None or isinstance(entry, datasets.UserEntry) else entry.stand_in_for or ""


def _float(value: Number | UnsetType) -> float | None:
    return None if isinstance(value, UnsetType) else float(value)


def _file_sizes(key: str, sizes: Sequence[int], name: str, own: Collection[str]) -> list[int]:
    """Translate the sizes of a key; an error names the one at fault."""
    found = []
    for position, n in enumerate(sizes):
        with under(key, position):
            found.append(_file_size(name, n, own))
    return found


def _file_size(name: str, n: int, own: Collection[str]) -> int:
    """Translate a paper's size into rows of the file; a user's own file is checked when it is read."""
    try:
        return n if name in own else datasets.resolve_size(name, n)
    except ValueError as error:
        raise Fault((), str(error)) from error


def _axis(entry: WholeExperiment) -> tuple[str | None, tuple[float, ...]]:
    """Return the parameter that an experiment varies at each size, and its values from easiest to hardest."""
    if isinstance(entry.axis, UnsetType):
        return None, ()
    ((axis, values),) = to_builtins(entry.axis).items()
    if axis != "eps" and getattr(entry, axis) is UNSET:
        raise Fault(("axis",), f"varies {axis!r}: the experiment must set {axis} itself")
    return axis, tuple(sorted(map(float, values), reverse=axis == "eps"))


def _test(entry: WholeExperiment, own: Mapping[str, OwnData], largest: int) -> HeldOut | None:
    """Return the test set of an experiment, or None."""
    if isinstance(entry.measures, UnsetType):
        if entry.test is not UNSET:
            raise Fault(("test",), "needs measures")
        return None
    for position, name in enumerate(entry.measures):
        check_known(name, MEASURES, "measure", "measures", position)
    test = given(entry.test, HeldOut())
    with under("test"):
        named = test.dataset or entry.dataset
        check_known(named, [*datasets.names(), *own], "data set", "dataset")
        generated = named not in own and datasets.is_generated(named)
        if generated:
            if test.dataset is not None:
                what = f"data set {named!r} is generated: leave the dataset out, and give skip and rows"
                raise Fault((), what)
            if test.rows is None or test.skip < largest:
                raise Fault((), f"a generated set needs rows, and skip of at least {largest}")
        elif test.skip:
            raise Fault(("skip",), f"data set {named!r} is not generated: it has a test part of its own")
        elif named not in own:
            try:
                datasets.content_key(named, test.rows, part="test" if test.dataset is None else "train")
            except datasets.DataError as error:
                raise Fault((), str(error)) from error
            known = datasets.describe(named) if test.dataset is None else None
            if isinstance(known, datasets.DownloadedEntry) and known.trains_on_test_rows(largest):
                raise Fault((), f"{named}: the training set of {largest} rows holds test examples")
        elif test.dataset is None and own[named].test is None:
            raise Fault((), f"give a dataset, or datasets.{named}.test: {named!r} has no test file")
        if test.dataset == entry.dataset:
            what = f"{named!r} is the training set: leave it out for its test part, or name another one"
            raise Fault(("dataset",), what)
    return test


def _seeds(entry: WholeExperiment, own: Collection[str], permutations: int | None) -> tuple[int | None, ...]:
    seeds = given(entry.seeds, None)
    generated = entry.dataset not in own and datasets.is_generated(entry.dataset)
    if entry.resample and (permutations is None or not generated):
        raise Fault(("resample",), "needs permutations of a generated data set")
    if permutations is not None:
        if seeds is not None:
            raise Fault(("seeds",), "an experiment has seeds or permutations, not both")
        return tuple(range(permutations))
    if generated:
        return seeds or (0,)
    if seeds is not None:
        raise Fault(("seeds",), f"data set {entry.dataset!r} is not generated: it takes no seed")
    return (None,)


def _contender(
    label: str, entry: ContenderSettings, experiment: WholeExperiment, settings: Settings, kernel: Kernel
) -> Contender:
    if isinstance(entry.solver, UnsetType):
        raise Fault((), "key 'solver' is missing")
    contender = Contender(
        label=label,
        solver=entry.solver,
        storage=entry.storage,
        bias=given(entry.bias, experiment.bias),
        options=entry.options,
        time_limit=given(entry.time_limit, given(experiment.time_limit, settings.time_limit)),
        memory_limit_mb=entry.memory_limit_mb,
        permutations=given(entry.permutations, None),
        encoding=given(entry.encoding, experiment.encoding),
        eps=_float(entry.eps),
        iteration_limit=_steps(given(entry.iteration_limit, experiment.iteration_limit)),
        warm=entry.warm,
        nested=entry.nested,
        largest=given(entry.largest, None),
    )
    if contender.encoding is not None:
        check_known(contender.encoding, datasets.ENCODINGS, "encoding", "encoding")
    if contender.permutations is not None and experiment.permutations is UNSET:
        raise Fault(("permutations",), "the experiment has no permutations")
    check_known(contender.storage, ("auto", *STORAGES), "storage", "storage")
    if contender.solver not in SOLVERS:
        solver = _user_solver(contender.solver)
        if entry.iteration_limit is not UNSET:
            raise Fault(("iteration_limit",), "a solver of your own takes no iteration limit")
        return replace(contender, solver=solver, iteration_limit=None)
    spec = SOLVERS[contender.solver]
    for option in contender.options:
        check_known(option, spec.options, f"option of {contender.solver!r}:", "options", option)
    try:
        # Only the kernel's family and the bias are checked; the labels are unknown before the data are read.
        spec.check(SimpleNamespace(kernel=kernel, bias=contender.bias, binary=True), contender.options)
    except ValueError as error:
        raise Fault(("solver",), str(error)) from error
    try:
        spec.check_iteration_limit(contender.iteration_limit)
    except ValueError as error:
        raise Fault(("iteration_limit",), f"{error}: give it null") from error
    return contender


def _user_solver(name: str) -> str:
    """Return the ``package.module:function`` of a solver that is not in SOLVERS; it must exist."""
    user = None
    try:
        if ":" not in name:
            check_known(name, [*SOLVERS, *user_functions.declared()], "solver", "solver")
        user = user_functions.find(name)
        user.check_name()
        solver_fingerprint(user.function)
    except UserSolverError as error:
        raise Fault(("solver",), str(error)) from error
    except StepError as error:
        raise Fault(("solver",), f"{user}: {error}" if user and user.name else str(error)) from error
    return user.function


def _steps(limit: Number | None) -> Number | None:
    """Return a limit of steps as an integer or inf; None is the solver's own limit."""
    if limit is None or math.isinf(limit):
        return limit
    if limit != int(limit):
        raise Fault(("iteration_limit",), f"must be a whole number or .inf, not {limit:g}")
    return int(limit)


def _artefacts(
    entries: Mapping[str, ArtefactSettings],
    contents: Mapping[str, Mapping[str, Any]],
    experiments: Mapping[str, Experiment],
    declared: list[str],
    baseline: str | None,
) -> dict[str, Artefact]:
    """Build the artefacts, without those whose experiments the scale all removes.

    A ``baseline`` replaces their own where it takes part.
    """
    artefacts = {}
    for name, entry in entries.items():
        if entry.kind == "claims" and name != "claims":
            raise Fault(("artefacts", name), "a table of claims has the name 'claims', by which it is found")
        if entry.form == "table" and name in RESERVED_TABLES:
            raise Fault(("artefacts", name), f"{name!r} is the name of a file of the results")
        if entry.kind in ARTEFACT_KINDS[entry.form]:  # the builder refuses other kinds
            with under("artefacts", name):
                convert(contents[name], settings_of(entry.kind))
        single = entry.experiment is not UNSET
        named = (given(entry.experiment, ""),) if single else given(entry.experiments, ())
        for experiment in named:
            check_known(experiment, declared, "experiment", "artefacts", name)
        shown = tuple(experiment for experiment in named or declared if experiment in experiments)
        if shown:
            extra = {key: each for key, each in contents[name].items() if key not in entry.__struct_fields__}
            if "baseline" in extra and any(baseline in experiments[each].contenders for each in shown):
                extra["baseline"] = baseline
            artefacts[name] = Artefact(
                name=name,
                kind=entry.kind,
                form=entry.form,
                experiments=shown,
                title=entry.title,
                caption=entry.caption,
                settings=extra,
                single=single,
                left_out=tuple(experiment for experiment in named if experiment not in experiments),
            )
    return artefacts
