"""The configuration of a bench: solvers side by side on some data sets, as a paper in a folder of its own.

The folder has the layout of ``config/``, so that everything else reads it as it reads the project's own.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Container, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy import sparse
from svmrepro import datasets
from svmrepro.datasets.download.raw_files import ensure_file
from svmrepro.datasets.errors import OneClassError
from svmrepro.datasets.input_checks import closest, did_you_mean
from svmrepro.datasets.readers.npz import write_npz
from svmrepro.solvers import SOLVERS, user_functions
from svmrepro.solvers.kernel import gamma_of_scale
from svmrepro.solvers.registry import BIAS, NO_BIAS
from svmrepro.workflow.configuration import as_called, callers_folder, config_dir
from svmrepro.workflow.configuration.model import BENCH
from svmrepro.workflow.configuration.plain_yaml import read_yaml
from svmrepro.workflow.configuration.settings import valid_name
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.files import atomic_path, atomic_write
from svmrepro.workflow.fingerprints import solver_fingerprint
from svmrepro.workflow.joining.bench_folder import MARK, data_line
from svmrepro.workflow.number_text import plural

PAPER = BENCH
"""Name of a bench as a paper."""

GENERATED = ("twonorm-generated", "ringnorm-generated", "chess-board")
"""Data sets if none is named: they need no download."""

UNBIASED: Mapping[str, Mapping[str, Any]] = {
    "dual-descent": {"solver": "dual-descent"},
    "ocas": {"solver": "ocas"},
    "svmperf": {"solver": "svmperf"},
    "liblinear": {"solver": "liblinear", "storage": "csr", "options": {"passes": 10000}},
}
"""Contenders without a bias; those with one are those of the paper ``peers``."""

MOST_ROWS, GENERATED_ROWS = 4000, 2000
"""Default rows: the most of a set, and those of a generated set, so that a bench takes about a minute."""

SIZES = 4
"""Sizes per data set, each twice the one before."""

FEWEST = 50
"""Smallest size."""

RUNS = 3
"""Time of a contender on a data set, in units of its time limit: the largest size, smaller ones, repeats."""

DOWNLOADS = "data"
"""Folder of downloaded data sets, as in config/config.yaml."""

CACHE_MB = 200.0
"""Cache of each known solver that keeps one, as in the paper ``peers``."""

MOST_DENSE_BYTES = 2**30
"""Sparse examples that would take more as dense rows have no contenders on dense rows."""

KERNELS = {"gaussian": ("gamma",), "linear": (), "polynomial": ("gamma", "degree")}
"""Kernels of a bench, with the settings that each takes."""

POSITIVE = ("C", "gamma", "degree", "eps", "seconds", "repeats", "rows")
"""Settings that are positive numbers."""


@dataclass(frozen=True)
class BenchData:
    """A data set of a bench, with the number of its rows."""

    name: str
    title: str
    rows: int
    of: int  # rows of the whole set; the same for a generated one
    gamma: float  # by default: that of scikit-learn's gamma="scale"
    own: Mapping[str, Any] | None = None  # entry under ``datasets`` for a user's own file
    tested: bool = False  # whether there is a test set
    untested: str = ""  # why the test set of the registry is not there
    dense_bytes: int = 0  # what sparse examples would take as dense rows


@dataclass(frozen=True)
class Bench:
    """What is to be compared; the help of the command `bench` describes each."""

    solvers: Sequence[str] = ()
    data: Sequence[str | Path] = ()  # files and names of data sets; none: those of GENERATED
    rows: int | None = None  # of each data set; None: all, but at most MOST_ROWS
    labels: Mapping[Any, float] | None = None  # label in the file: -1 or 1
    label: str = "last"  # column of the labels
    test: Path | None = None  # a file with a test set
    C: float = 1.0
    kernel: str = "gaussian"
    gamma: float | None = None
    degree: int | None = None  # of the polynomial kernel: 3
    bias: bool = True
    eps: float = 1e-3
    seconds: float = 60.0  # for all runs together, if each contender uses up its time
    repeats: int = 3
    baseline: str = ""  # "": the first of our solvers
    options: Mapping[str, Any] = field(default_factory=dict)  # of the user's own solvers
    again: bool = False  # measure anew what was measured


def check_values(bench: Bench) -> None:
    """Raise a StepError for a number out of its range, an unknown kernel, or options that no solver takes."""
    for name in POSITIVE:
        value = getattr(bench, name)
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise StepError(f"--{name}: must be positive, not {value:g}")
        if value is not None and value >= 2.0**63:
            raise StepError(f"--{name}: must be a number below 2^63, not {value:g}")
    if bench.kernel not in KERNELS:
        raise StepError(f"--kernel: {bench.kernel!r}; one of {', '.join(KERNELS)} expected")
    for name in ("gamma", "degree"):
        if getattr(bench, name) is not None and name not in KERNELS[bench.kernel]:
            raise StepError(f"--{name}: the {bench.kernel} kernel has no {name}; leave it out")
    if bench.options and all(name in SOLVERS for name in bench.solvers):
        raise StepError("--option: no solver of yours takes part; add it by --solver")


def numeric_arrays(name: str, arrays: Any) -> tuple[Any, Any]:
    """Return a caller's ``(X, y)`` as they are stored; values are checked when they are read again."""
    try:
        X, y = arrays
    except (TypeError, ValueError):
        raise StepError(f"data[{name!r}]: (X, y) expected, not {type(arrays).__name__}") from None
    X, y = X.tocsr() if sparse.issparse(X) else np.asarray(X), np.asarray(y)
    for array, what in ((X, "X"), (y, "y")):
        if array.dtype.kind not in "biuf":
            raise StepError(f"data[{name!r}]: {what}: numbers expected, not {array.dtype}")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        raise StepError(f"data[{name!r}]: a name of letters, digits, '.', '_' and '-' expected")
    return X, y


def check_data(bench: Bench, made: Container[str | Path] = ()) -> None:
    """Raise a StepError for options that the data do not take, two data of one name, and missing data.

    Files that are ``made`` later need not be there.
    """
    _check_file_options(bench)
    _check_names(bench)
    for name in bench.data:
        path = callers_folder.input_path(name)
        if str(name) in datasets.names() or name in made or path.is_file():
            continue
        if path.is_dir():
            raise StepError(f"--data: {name} is a folder: name a file in it")
        known = did_you_mean(str(name), datasets.names())
        raise StepError(f"--data: {name} is neither a file nor a data set{known}")


def read_data(bench: Bench, folder: Path) -> list[BenchData]:
    """Return the data sets of a bench; the rows of files are stored in its folder."""
    return [_data_set(str(name), bench, folder) for name in bench.data or GENERATED]


def _check_file_options(bench: Bench) -> None:
    """Raise a StepError for an option for files, or for tables, if the data have none."""
    files = [Path(name) for name in bench.data if str(name) not in datasets.names()]
    told = {
        "labels": bench.labels is not None,
        "label": bench.label != "last",
        "test": bench.test is not None,
    }
    for option in [name for name, given in told.items() if given]:
        if not files:
            named = ", ".join(map(str, bench.data)) or "the generated data"
            raise StepError(f"--{option}: is for a file of yours, not for {named}; leave it out")
    if bench.label != "last" and not any(datasets.UserEntry("", path).form() == "csv" for path in files):
        raise StepError(f"--label: is for tables (.csv, .tsv), not for {files[0]}; leave it out")


def _check_names(bench: Bench) -> None:
    """Raise a StepError if two of the data would have one name; the second would replace the first."""
    named: dict[str, str] = {}
    for given in map(str, bench.data):
        file = given not in datasets.names()
        name = _name_of(Path(given)) if file else given
        for each in [name, *[f"{name}-test"] * (file and bench.test is not None)]:
            if named.get(each) == given:
                raise StepError(f"--data: {given} is named twice; name it once")
            if each in named:
                raise StepError(
                    f"--data: {named[each]} and {given} would both be called {each!r}; rename one"
                )
            named[each] = given


def _name_of(path: Path) -> str:
    """Return the name of a user's own file as a data set."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-.") or "data"
    taken = name in datasets.names() and not isinstance(datasets.describe(name), datasets.UserEntry)
    return f"own-{name}" if taken else name


def _data_set(name: str, bench: Bench, folder: Path) -> BenchData:
    if name in datasets.names():
        return known_set(name, bench.rows)
    test = bench.test and callers_folder.input_path(bench.test)
    return sample_of_file(
        callers_folder.input_path(name), folder / "own", bench.rows, bench.labels, bench.label, test
    )


def sample_of_file(
    path: Path,
    folder: Path,
    rows: int | None,
    labels: Mapping[Any, float] | None = None,
    label: str = "last",
    test: Path | None = None,
) -> BenchData:
    """Read a user's own file and store its rows in a random order, in a folder; a fault is a StepError.

    Files are often sorted by class, so their first rows would not be a representative sample.
    """
    name = _name_of(path)
    told: Any = {} if labels is None else {"labels": labels}
    register: Any = partial(datasets.register_file, name, label=label, **told)
    try:
        entry = register(path, test=test)
        data = datasets.load(name)
        if test is not None and entry.form() == entry.form("test") == "libsvm":
            register(test)
            wider = max(data.X.shape[1], datasets.load(name).X.shape[1])
            register(path, test=test, features=wider)  # each may lack the last columns of the other
            data = datasets.load(name)
        stored = {"train": (data.X, data.y)}
        if test is not None:
            tested = datasets.load(name, part="test")
            stored["test"] = (tested.X, tested.y)
    except datasets.DataError as error:
        # The key of a configuration is an option here.
        said = re.sub(r"the key '(\w+)'", r"--\1", one_line(error)).replace("{0: -1, 1: 1}", "0:-1,1:1")
        said = f"--{said}" if said.startswith("labels: ") else said
        raise StepError(said) from error
    order = np.random.default_rng(0).permutation(len(data.y))
    n = min(len(order), MOST_ROWS) if rows is None else rows
    if not 2 <= n <= len(order):
        why = f"the file has only {plural(len(order), 'row')}" if n > 1 else "at least 2 rows are needed"
        raise StepError(f"{path}: -n {n}: {why}")
    stored["train"] = (data.X[order[:n]], data.y[order[:n]])
    for size in sizes_of(n):
        if len(set(data.y[order[:size]])) < 2:
            hint = "ask for more" if n < len(order) else "the other has too few"
            raise StepError(
                f"{path}: -n {n}: the first {size} rows, drawn at random, hold one class only; {hint}"
            )
    own: dict[str, Any] = {}
    for part, (X, y) in stored.items():
        file = folder / f"{name}{'-test' * (part == 'test')}.npz"
        if file.resolve() in (path.resolve(), test and test.resolve()):
            raise StepError(f"--output: {file} would be overwritten by a sample of it; name another folder")
        with atomic_path(file) as temporary:
            write_npz(temporary, X, y)
        own["path" if part == "train" else "test"] = str(file)
    title = path.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    X = stored["train"][0]
    return BenchData(
        name, title, n, len(order), gamma_of_scale(X), own, test is not None, dense_bytes=_dense_bytes(X)
    )


def known_set(name: str, rows: int | None) -> BenchData:
    """Fetch the files of a data set of the registry that its sizes need, and describe it.

    One that cannot be fetched or has fewer rows is a StepError; without its test set there is no accuracy.
    """
    try:
        entry = datasets.describe(name)
        n = rows
        if n is None:
            n = GENERATED_ROWS if datasets.is_generated(name) else min(datasets.resolve_size(name), MOST_ROWS)
        n = datasets.resolve_size(name, n)
        for size in sizes_of(n)[:-1]:  # it may have a file of its own
            with suppress(OneClassError):  # such rows are not run
                datasets.load(name, size, data_dir=DOWNLOADS)
        data = datasets.load(name, n, data_dir=DOWNLOADS)
    except datasets.DataError as error:
        raise StepError(one_line(error)) from error
    except datasets.DatasetUnavailable as error:
        raise StepError(f"{one_line(error)}; the same command tries again") from error
    of = n if datasets.is_generated(name) else datasets.resolve_size(name)
    tested, untested = False, ""
    if isinstance(entry, datasets.DownloadedEntry) and entry.test is not None:
        try:
            for file in entry.parts[entry.test].files:
                ensure_file(entry, file, DOWNLOADS)
            tested = True
        except datasets.DatasetUnavailable as error:
            untested = one_line(error)
    gamma, size = gamma_of_scale(data.X), _dense_bytes(data.X)
    return BenchData(name, name, n, of, gamma, None, tested, untested, size)


def write_configuration(bench: Bench, data: Sequence[BenchData], folder: Path) -> list[str]:
    """Write the bench's configuration into ``folder / "config"``; return the labels of the contenders."""
    contenders = contenders_of(bench)
    if any(each.dense_bytes > MOST_DENSE_BYTES for each in data):
        contenders = {label: entry for label, entry in contenders.items() if entry.get("storage") != "dense"}
        if not contenders:
            raise StepError("--solver: the examples are too many for solvers that take dense rows only")
    baseline = baseline_of(bench, contenders)
    limit = max(0.2, round(bench.seconds / (RUNS * len(contenders) * len(data)), 2))
    main = {
        "data_dir": DOWNLOADS,
        "results_dir": str(folder / "results"),
        "figures_dir": str(folder / "figures"),
        "papers": [PAPER],
        "repeats": bench.repeats,
        "repeat_budget": limit / 2,
        "time_limit": limit,
        "scale": "default",
        "datasets": {each.name: each.own for each in data if each.own is not None},
    }
    experiments = {
        each.name: {
            "title": each.title.replace("{", "(").replace("}", ")"),
            "dataset": each.name,
            "kernel": _kernel(bench, each),
            "C": bench.C,
            "bias": bench.bias,
            "eps": bench.eps,
            "sizes": sizes_of(each.rows),
            "trace": True,
            **({"measures": ["accuracy"]} if each.tested else {}),
            "contenders": contenders,
        }
        for each in data
    }
    shown: dict[str, Any] = {"baseline": baseline, "caption": _caption(bench, data)}
    paper = {
        "paper": PAPER,
        "title": "Bench",
        "experiments": experiments,
        "artefacts": {
            "table": {"kind": "peers", "form": "table", "title": "Solvers side by side", **shown},
            "details": {"kind": "contenders", "form": "table", "title": "Every size", **shown},
            "figure": {"kind": "seconds-objectives", "form": "figure", "title": "Seconds and objectives"},
            **(
                {"profile": {"kind": "profile", "form": "figure", "title": "Performance profile"}}
                if len(data) > 1
                else {}
            ),
        },
    }
    atomic_write(folder / MARK, data_line(bench.data) + yaml.safe_dump(paper, sort_keys=False))
    atomic_write(folder / "config" / "config.yaml", yaml.safe_dump(main, sort_keys=False))
    return [*contenders]


def contenders_of(bench: Bench) -> dict[str, dict[str, Any]]:
    """Return the contenders by label.

    A user's own solvers join all others that can take the problem. If known solvers are named as well, only
    these take part, beside the user's own.
    """
    known = [name for name in bench.solvers if name in SOLVERS]
    own = [name for name in bench.solvers if name not in SOLVERS]
    peers = _peers(bench)
    fitting = {
        label: entry
        for label, entry in peers.items()
        if (not known or entry["solver"] in known) and SOLVERS[entry["solver"]].version is not None
    }
    for name in known:
        if SOLVERS[name].version is not None and all(entry["solver"] != name for entry in peers.values()):
            cache = {"options": {"cache_mb": CACHE_MB}} if SOLVERS[name].options.get("cache_mb") else {}
            fitting[name] = {"solver": name, **cache}
    for name in own:
        fitting[valid_name(name)] = {"solver": name, "options": dict(bench.options)}
    if bench.kernel != "linear" and not bench.bias:
        raise StepError("--no-bias: only linear solvers go without a bias: add --kernel linear")
    for entry in fitting.values():
        if bench.bias and entry["solver"] in SOLVERS and NO_BIAS in SOLVERS[entry["solver"]].needs:
            raise StepError(f"--solver: {entry['solver']} takes no bias: add --no-bias --kernel linear")
        if not bench.bias and entry["solver"] in SOLVERS and BIAS in SOLVERS[entry["solver"]].needs:
            raise StepError(f"--solver: {entry['solver']} has a bias: leave out --no-bias")
    if not fitting:
        raise StepError(f"--solver: {absent(bench)}")
    return fitting


def baseline_of(bench: Bench, contenders: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the label of the baseline, which may be named as for ``--solver``; else a StepError."""
    asked = bench.baseline or next(iter(contenders))
    for label, entry in contenders.items():
        if asked in (label, entry["solver"]):
            return label
    raise StepError(f"--baseline: no solver {asked!r}{did_you_mean(asked, contenders)}")


def _peers(bench: Bench) -> dict[str, dict[str, Any]]:
    """Return the contenders that take part if no known solver is named, installed or not."""
    if not bench.bias:
        return {label: dict(entry) for label, entry in UNBIASED.items()}
    peers: dict[str, dict[str, Any]] = read_yaml(config_dir() / "experiments" / "peers.yaml")["contenders"]
    return peers


def absent(bench: Bench) -> str:
    """Return a line on the solvers that would take part but are not installed; "" if there are none."""
    known = [name for name in bench.solvers if name in SOLVERS]
    names = known or [str(entry["solver"]) for entry in _peers(bench).values()]
    missing = {name: SOLVERS[name].package for name in names if SOLVERS[name].version is None}
    if not missing:
        return ""
    how = as_called(f"`./run pip install {' '.join(dict.fromkeys(missing.values()))}`")
    return f"not installed: {', '.join(missing)}; install with {how}"


def check_own_solvers(bench: Bench) -> None:
    """Import the user's own solvers, and see that they can be called as ``train(problem, eps, time_limit)``.

    The first that cannot raises a StepError.
    """
    for name in bench.solvers:
        if name in SOLVERS:
            continue
        try:
            user = user_functions.find(name)
            user.check_name()
            if ":" in name:
                solver_fingerprint(name)  # its error for a missing module is short
            with redirect_stdout(sys.stderr):  # what an import prints does not belong to the table
                user.check_call(bench.options)
        except (ValueError, StepError) as error:
            known = [*SOLVERS, *user_functions.declared()]
            suggestion = "" if ":" in name else closest(name, known)
            said = one_line(error).removeprefix(f"solver {name!r}: ")
            raise StepError(f"--solver {name}: {said}{suggestion}") from error


def sizes_of(rows: int) -> list[int]:
    """Return the sizes: all rows, and halves of the size above as long as there are enough."""
    sizes = [rows]
    while len(sizes) < SIZES and sizes[-1] >= 2 * FEWEST:
        sizes.append(sizes[-1] // 2)
    return sorted(sizes)


def _caption(bench: Bench, data: Sequence[BenchData]) -> str:
    """Describe the problems: rows, kernel and parameters."""
    rows = []
    for each in data:
        drawn = ", drawn at random" if each.own is not None else ""
        share = f" of {each.of:,} rows{drawn}" if each.rows < each.of else " rows"
        rows.append(f"{each.title}: {each.rows:,}{share}")
    kernels = dict.fromkeys(
        " ".join(
            [
                str(kernel["name"]),
                *(f"{key} = {kernel[key]:g}" for key in ("gamma", "degree") if key in kernel),
            ]
        )
        for kernel in (_kernel(bench, each) for each in data)
    )
    bias = "" if bench.bias else ", no bias"
    settings = f"Kernel: {' or '.join(kernels)}; C = {bench.C:g}, eps = {bench.eps:g}{bias}."
    return f"{'; '.join(rows)}. {settings}".replace("{", "(").replace("}", ")")


def _kernel(bench: Bench, data: BenchData) -> dict[str, Any]:
    gamma = bench.gamma if bench.gamma is not None else float(f"{data.gamma:.3g}")
    kernels: dict[str, dict[str, Any]] = {
        "linear": {"name": "linear"},
        "gaussian": {"name": "gaussian", "gamma": gamma},
        # As scikit-learn's: (gamma x.x' + 1)^degree
        "polynomial": {"name": "polynomial", "degree": bench.degree or 3, "a": gamma, "c": 1.0},
    }
    return kernels[bench.kernel]


def _dense_bytes(X: Any) -> int:
    """Return what sparse examples would take as dense rows; 0 for others."""
    return 8 * int(X.shape[0]) * int(X.shape[1]) if sparse.issparse(X) else 0
