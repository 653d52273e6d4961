"""From the merged YAML of a paper to checked records: names exist, sizes fit, options are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from svmrepro.workflow.configuration.layers import Key, Layers, did_you_mean, read_yaml
from svmrepro.workflow.configuration.model import Artefact, Contender, Experiment, HeldOut, Paper
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.fingerprints import solver_fingerprint

#: Stopping tolerance where an experiment gives none (every paper here uses it).
DEFAULT_EPS = 1e-3


def read_paper(path: Path, shown: str, schema: Mapping[str, Any], settings: Layers) -> Paper:
    """
    Read a paper's file with the configuration's overrides merged in.

    Parameters
    ----------
    path, shown
        The file, and how messages call it.
    schema
        The schema document.
    settings
        The merged configuration: overrides by experiment, defaults for limits and repeats, own data sets.

    Returns
    -------
    Paper
        Checked.

    Raises
    ------
    StepError
        For the first fault: file, key, what is wrong.
    """
    layers = Layers()
    layers.add(read_yaml(path), shown)
    # Not checked yet: it is only once the overrides are merged in.
    given = layers.content.get("experiments")
    paper_sizes = {
        name: _whole_numbers(entry.get("sizes"))
        for name, entry in (given.items() if isinstance(given, dict) else ())
        if isinstance(entry, dict)
    }
    declared = list(paper_sizes)
    for name in settings.content.get("experiments", {}).get(path.stem) or {}:
        if name not in declared:
            raise settings.error(
                ("experiments", path.stem, name), f"unknown experiment{did_you_mean(name, declared)}"
            )
    layers.graft(settings, ("experiments", path.stem), ("experiments",))
    layers.drop_nulls("experiments")
    for name in declared:
        layers.drop_nulls("experiments", name, "contenders")
    layers.validate(schema, "paper")
    content = layers.content
    if content["paper"] != path.stem:
        raise layers.error(("paper",), f"must be the file's name, {path.stem!r}")
    experiments = {
        name: _experiment(name, content, layers, settings, paper_sizes[name])
        for name in content["experiments"]
    }
    left_out = tuple(name for name in declared if name not in experiments)
    artefacts = _artefacts(layers, experiments, declared)
    return Paper(content["paper"], content["title"], experiments, artefacts, left_out)


def _whole_numbers(value: Any) -> list[int]:
    """Return those entries of a list that are whole numbers."""
    return [n for n in value if isinstance(n, int)] if isinstance(value, list) else []


def check_overrides(settings: Layers, known_papers: Mapping[str, Paper], folder: Path) -> None:
    """
    Refuse overrides for papers that do not exist.

    Raises
    ------
    StepError
        Naming file and key.
    """
    files = {path.stem for path in (folder / "experiments").glob("*.yaml")} | set(known_papers)
    for name in settings.content.get("experiments", {}):
        if name not in files:
            raise settings.error(("experiments", name), f"unknown paper{did_you_mean(name, files)}")


def _experiment(
    name: str, content: Mapping[str, Any], layers: Layers, settings: Layers, paper_sizes: Any
) -> Experiment:
    from svmrepro.solvers import Kernel

    entry = content["experiments"][name]
    at: Key = ("experiments", name)
    defaults = settings.content
    dataset = entry["dataset"]
    own = defaults.get("datasets", {})
    _check_dataset(dataset, own, layers, (*at, "dataset"))
    try:
        kernel = Kernel.from_mapping(entry["kernel"])
    except ValueError as error:
        hint = did_you_mean(entry["kernel"]["name"], ("linear", "gaussian", "polynomial"))
        raise layers.error((*at, "kernel"), f"{error}{hint if 'unknown; ' in str(error) else ''}") from error
    bias = entry.get("bias", True)
    time_limit = entry.get("time_limit", defaults.get("time_limit"))
    steps = _steps(entry, None, layers, at)
    encoding = _encoding(entry, None, layers, at)
    contenders = {
        label: _contender(
            label, value, bias, time_limit, steps, encoding, kernel, layers, (*at, "contenders", label)
        )
        for label, value in entry["contenders"].items()
    }
    override = ((defaults.get("experiments") or {}).get(content["paper"]) or {}).get(name) or {}
    # What is asked for of this very experiment is no matter of the scale.
    most = None if "permutations" in override else defaults.get("most_permutations")
    permutations = _permutations(entry, most, layers, at)
    sizes = [
        _file_size(dataset, n, own, layers, (*at, "sizes", position))
        for position, n in enumerate(entry["sizes"])
    ]
    of_paper = {_file_size(dataset, n, own, layers, (*at, "sizes")): n for n in paper_sizes}
    axis, points = _axis(entry, layers, at)
    measures, test = _test(entry, dataset, own, max(sizes), layers, at)
    encodings = {encoding, *(contender.encoding for contender in contenders.values())} - {None}
    if test is not None and encodings:
        raise layers.error(
            (*at, "measures"), "encodings are made of training rows: there is no test set in one"
        )
    return Experiment(
        name=name,
        paper=content["paper"],
        title=entry["title"],
        dataset=dataset,
        kernel=dict(entry["kernel"]),
        C=None if "C" not in entry else float(entry["C"]),
        C_total=None if "C_total" not in entry else float(entry["C_total"]),
        bias=bias,
        eps=float(entry.get("eps", DEFAULT_EPS)),
        sizes=tuple(sorted(set(sizes))),
        paper_sizes={n: of_paper[n] for n in sorted(set(sizes)) if n in of_paper},
        seeds=_seeds(entry, dataset, own, permutations, layers, at),
        repeats=entry.get("repeats", defaults["repeats"]),
        repeat_budget=entry.get("repeat_budget", defaults.get("repeat_budget")),
        contenders=contenders,
        permutations=permutations,
        axis=axis,
        points=points,
        measures=measures,
        test=test,
    )


def _check_dataset(name: str, own: Mapping[str, Any], layers: Layers, at: Key) -> None:
    from svmrepro import datasets

    known = [*datasets.names(), *own]
    if name not in known:
        raise layers.error(at, f"unknown data set {name!r}{did_you_mean(name, known)}")


def _file_size(name: str, n: int, own: Mapping[str, Any], layers: Layers, at: Key) -> int:
    """Translate a size of a paper into rows of the file; a user's own file is counted when it is read."""
    from svmrepro import datasets

    if name in own:
        return n
    try:
        return datasets.resolve_size(name, n)
    except ValueError as error:
        raise layers.error(at, str(error)) from error


def _axis(entry: Mapping[str, Any], layers: Layers, at: Key) -> tuple[str | None, tuple[float, ...]]:
    """Return what an experiment varies at each size, and its values from the easiest to the hardest."""
    if "axis" not in entry:
        return None, ()
    ((axis, values),) = entry["axis"].items()
    if axis != "eps" and axis not in entry:
        raise layers.error(
            (*at, "axis"), f"varies {axis!r}: the experiment has to give that, not the other one"
        )
    return axis, tuple(sorted((float(value) for value in values), reverse=axis == "eps"))


def _test(
    entry: Mapping[str, Any], dataset: str, own: Mapping[str, Any], largest: int, layers: Layers, at: Key
) -> tuple[tuple[str, ...], HeldOut | None]:
    """Return how results are judged, and on what."""
    from svmrepro import datasets
    from svmrepro.solvers import MEASURES

    if "measures" not in entry:
        if "test" in entry:
            raise layers.error((*at, "test"), "needs measures")
        return (), None
    for position, name in enumerate(entry["measures"]):
        if name not in MEASURES:
            hint = did_you_mean(name, MEASURES)
            raise layers.error((*at, "measures", position), f"unknown measure {name!r}{hint}")
    test = HeldOut(**entry.get("test", {}))
    where: Key = (*at, "test")
    if test.dataset is not None:
        _check_dataset(test.dataset, own, layers, (*where, "dataset"))
    named = test.dataset or dataset
    generated = named not in own and datasets.is_generated(named)
    if generated and test.dataset is None:
        if test.rows is None or test.skip < largest:
            raise layers.error(where, f"a generated set needs rows, and skip of at least {largest}")
    elif generated:
        raise layers.error(
            where, f"data set {named!r} is generated: leave the dataset out, and give skip and rows"
        )
    elif test.skip:
        raise layers.error(
            (*where, "skip"), f"data set {named!r} is not generated: it has a test part of its own"
        )
    elif named in own:
        if test.dataset is None:
            raise layers.error(
                where, f"data set {named!r} is a file of your own: name another one as dataset"
            )
    else:
        part: Literal["train", "test"] = "test" if test.dataset is None else "train"
        try:
            datasets.content_key(named, test.rows, part=part)
        except datasets.DataError as error:
            raise layers.error(where, str(error)) from error
    return tuple(entry["measures"]), test


def _permutations(entry: Mapping[str, Any], most: int | None, layers: Layers, at: Key) -> int | None:
    """Return how many random orders an experiment has at this scale; None if it keeps the data's own."""
    wanted: int | None = entry.get("permutations")
    if wanted is not None:
        return wanted if most is None else min(wanted, most)
    for label, value in entry["contenders"].items():
        if "permutations" in value:
            where = (*at, "contenders", label, "permutations")
            raise layers.error(where, "the experiment has no permutations")
    return None


def _seeds(
    entry: Mapping[str, Any],
    dataset: str,
    own: Mapping[str, Any],
    permutations: int | None,
    layers: Layers,
    at: Key,
) -> tuple[int | None, ...]:
    from svmrepro import datasets

    if permutations is not None:
        if "seeds" in entry:
            raise layers.error((*at, "seeds"), "an experiment has seeds or permutations, not both")
        return tuple(range(permutations))
    if dataset not in own and datasets.is_generated(dataset):
        return tuple(entry.get("seeds", (0,)))
    if "seeds" in entry:
        raise layers.error((*at, "seeds"), f"data set {dataset!r} is not generated: it takes no seed")
    return (None,)


def _contender(
    label: str,
    entry: Mapping[str, Any],
    bias: bool,
    time_limit: float | None,
    steps: float | None,
    encoding: str | None,
    kernel: Any,
    layers: Layers,
    at: Key,
) -> Contender:
    from svmrepro.solvers import SOLVERS, STORAGES

    contender = Contender(
        label=label,
        solver=entry["solver"],
        storage=entry.get("storage", "auto"),
        bias=entry.get("bias", bias),
        options=dict(entry.get("options", {})),
        time_limit=entry.get("time_limit", time_limit),
        memory_limit_mb=entry.get("memory_limit_mb"),
        permutations=entry.get("permutations"),
        encoding=_encoding(entry, encoding, layers, at),
        eps=None if "eps" not in entry else float(entry["eps"]),
        iteration_limit=_steps(entry, steps, layers, at),
    )
    if contender.storage not in ("auto", *STORAGES):
        hint = did_you_mean(contender.storage, ("auto", *STORAGES))
        raise layers.error((*at, "storage"), f"unknown storage {contender.storage!r}{hint}")
    if ":" in contender.solver:
        if "iteration_limit" in entry:
            raise layers.error((*at, "iteration_limit"), "a solver of your own is told no number of steps")
        contender = replace(contender, iteration_limit=None)
        module, _, function = contender.solver.partition(":")
        if not (function.isidentifier() and all(part.isidentifier() for part in module.split("."))):
            raise layers.error((*at, "solver"), f"{contender.solver!r} is no package.module:function")
        try:
            solver_fingerprint(contender.solver)
        except StepError as error:
            raise layers.error((*at, "solver"), str(error)) from error
        return contender
    if contender.solver not in SOLVERS:
        hint = did_you_mean(contender.solver, SOLVERS)
        raise layers.error((*at, "solver"), f"unknown solver {contender.solver!r}{hint}")
    spec = SOLVERS[contender.solver]
    for option in contender.options:
        if option not in spec.options:
            hint = did_you_mean(option, spec.options)
            raise layers.error((*at, "options", option), f"unknown option of {contender.solver!r}{hint}")
    try:
        # The kernel's family and whether there is a bias; the labels are not known before the data are.
        spec.check(SimpleNamespace(kernel=kernel, bias=contender.bias, binary=True), contender.options)
    except ValueError as error:
        raise layers.error((*at, "solver"), str(error)) from error
    return contender


def _steps(entry: Mapping[str, Any], default: float | None, layers: Layers, at: Key) -> float | None:
    """Return the limit of steps that an entry asks for: a whole number or inf; null is the solver's own."""
    limit: float | None = entry.get("iteration_limit", default)
    if limit is None or math.isinf(limit):
        return limit
    if limit != int(limit):
        raise layers.error((*at, "iteration_limit"), f"must be a whole number or .inf, not {limit:g}")
    return int(limit)


def _encoding(entry: Mapping[str, Any], default: str | None, layers: Layers, at: Key) -> str | None:
    """Return the encoding that an entry asks for; null is the data set's own."""
    from svmrepro.datasets import ENCODINGS

    name: str | None = entry.get("encoding", default)
    if name is not None and name not in ENCODINGS:
        hint = did_you_mean(name, ENCODINGS)
        raise layers.error((*at, "encoding"), f"unknown encoding {name!r}{hint}")
    return name


def _artefacts(
    layers: Layers, experiments: Mapping[str, Experiment], declared: list[str]
) -> dict[str, Artefact]:
    """Build the artefacts; one whose experiments the scale took out altogether goes with them."""
    artefacts = {}
    for name, entry in layers.content["artefacts"].items():
        entry = dict(entry)
        named = entry.pop("experiments", [])
        single = "experiment" in entry
        if single:
            named = [entry.pop("experiment")]
        for experiment in named:
            if experiment not in declared:
                raise layers.error(
                    ("artefacts", name),
                    f"unknown experiment {experiment!r}{did_you_mean(experiment, declared)}",
                )
        shown = tuple(experiment for experiment in named or declared if experiment in experiments)
        if shown:
            known = {key: entry.pop(key) for key in ("kind", "form", "title")}
            caption = entry.pop("caption", "")
            artefacts[name] = Artefact(
                name=name, **known, experiments=shown, caption=caption, settings=entry, single=single
            )
    return artefacts
