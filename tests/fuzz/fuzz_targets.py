"""What is fuzzed: every reader of files that others wrote, the configuration, and what a server says.

A target gets bytes, or plain data, and either makes something of them or raises its documented error in one
line. Whatever else it raises is a finding, and so is what takes seconds.
"""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import io
import json
import lzma
import math
import signal
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from scipy.io import savemat
from svmrepro.datasets import registry as known_sets
from svmrepro.datasets.adult import AdultEncoder, read_adult
from svmrepro.datasets.archive import decompress, extract_member
from svmrepro.datasets.delimited import read_delimited
from svmrepro.datasets.download import _number, _redirected
from svmrepro.datasets.entries import Columns
from svmrepro.datasets.errors import DataError, SourceError
from svmrepro.datasets.idx import read_images
from svmrepro.datasets.libsvm import read_libsvm
from svmrepro.datasets.lyrl2004 import count_documents, count_topics, read_documents
from svmrepro.datasets.matfile import read_splits
from svmrepro.datasets.physics import read_physics
from svmrepro.datasets.prepared import _load
from svmrepro.datasets.registry import RegistryError, parse_registry
from svmrepro.datasets.verify import Ledger
from svmrepro.workflow.claims import read_claims
from svmrepro.workflow.config import config_dir, dump_config, load_config, read_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.grid import jobs
from svmrepro.workflow.papers import PaperNumbers
from svmrepro.workflow.paths import job_files
from svmrepro.workflow.record import decode
from svmrepro.workflow.runs import read_runs

sys.path.append(str(Path(__file__).resolve().parent.parent / "datasets"))
from datasets_support import compress_lzw

#: Seconds after which an input counts as one that hangs. The slowest honest one takes a tenth of one.
PATIENCE = 5.0
LIMIT = 100_000
SIGNS = {-1.0: -1.0, 1.0: 1.0}


class HangError(Exception):
    """An input took longer than :data:`PATIENCE`."""


@dataclass(frozen=True)
class Target:
    """One thing to fuzz: what it is given, what becomes of it, and which errors it documents."""

    name: str
    inputs: SearchStrategy[Any]
    run: Callable[[Any], object]
    errors: tuple[type[Exception], ...]

    def try_one(self, value: Any) -> bool:
        """Return whether an input was accepted; anything but the documented errors is raised."""
        with alarm():
            try:
                self.run(value)
            except self.errors as error:
                said = str(error)
                assert said and "\n" not in said, f"not one line: {said[:500]!r}"
                assert len(said) < 2000, f"a line of {len(said)} characters: {said[:200]!r}"
                return False
        return True


@contextlib.contextmanager
def alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise HangError(f"still at work after {PATIENCE:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# -- inputs -----------------------------------------------------------------------------------------

#: What has broken programs before.
_TOKENS = [
    b"", b"\0", b"\n", b"\r\n", b"\n\n", b" ", b",", b":", b"#", b"-", b"+1", b"?", b"nan", b"inf", b"1e999",
    b"-1e-999", b"9" * 20, b"9" * 400, b"9" * 5000, b"0x10", b"1_000", b"\xff\xfe", b"\xef\xbb\xbf",
    "\u0661".encode(), b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 8,
    b"../../evil", b"/etc/passwd", b"$(touch evil)", b"!!python/object/apply:os.system [true]", b"&a [*a]",
    b"*a", b"<<: *a", b"{", b"}", b"[", b"]" * 50, b"[" * 500, b"- " * 500, b"2001-99-99", b"0b_", b"0x_",
    b"._", b".inf", b".nan", b"1:99:99", b"1e1000", b"? ", b"!!binary x", b"\t", b"null", b"~", b"true",
    b"'", b'"', b"|", b">", b"%YAML 9.9", b"---", b"...", b"\xc2\x85", b"<!doctype html>", b"{x}",
]  # fmt: skip

_edits = st.lists(
    st.tuples(
        st.sampled_from(("token", "byte", "cut", "copy", "end", "swap", "many")),
        st.floats(0, 1),
        st.floats(0, 0.2),
        st.one_of(st.sampled_from(_TOKENS), st.binary(max_size=12)),
    ),
    min_size=1,
    max_size=6,
)


def _edited(seed: bytes, edits: list[tuple[str, float, float, bytes]]) -> bytes:
    data = bytearray(seed)
    for kind, where, span, token in edits:
        at = int(where * len(data))
        to = min(len(data), at + max(1, int(span * len(data))))
        if kind == "token":
            data[at:at] = token
        elif kind == "byte":
            data[at : at + len(token)] = token
        elif kind == "cut":
            del data[at:to]
        elif kind == "copy":
            data[at:at] = data[at:to]
        elif kind == "end":
            del data[at:]
        elif kind == "swap":
            data[at:to] = data[at:to][::-1]
        else:
            data[at:to] = data[at:to] * min(50, 1 + 20_000 // (to - at + 1))
    return bytes(data[:1_000_000])


def mutated(*seeds: bytes) -> SearchStrategy[bytes]:
    """Good files with faults, and now and then any bytes."""
    edited = st.builds(_edited, st.sampled_from(seeds), _edits)
    return st.one_of(edited, edited, edited, st.binary(max_size=300))


@functools.cache
def folder() -> Path:
    """A folder of the process's own for the files of inputs."""
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


def on_file(read: Callable[[Path], object], name: str = "file") -> Callable[[bytes], object]:
    def run(content: bytes) -> object:
        path = folder() / name
        path.write_bytes(content)
        return read(path)

    return run


# -- readers ----------------------------------------------------------------------------------------

_LIBSVM = b"".join(b"%+d %d:1 %d:0.5 13:-2e-3\n" % (1 - 2 * (i % 2), 1 + i % 5, 7 + i % 4) for i in range(30))
_NUMBERS = b"".join(b"%d,%d.5,-1e2,%d\n" % (i, i * i, 1 - 2 * (i % 2)) for i in range(20))
_VOTES = b"".join(b"%s,y,n,?\n%s,n,n,y\n" % (b"democrat", b"republican") for _ in range(10))
_ADULT = b"".join(
    b"%d, %s, %d, HS-grad, 9, Divorced, Sales, Own-child, White, Male, 0, %d, 40, Cuba, %s50K%s\n"
    % (20 + i, (b"Private", b"?")[i % 2], 1000 * i, i % 3, (b"<=", b">")[i % 2], (b"", b".")[i % 3 == 0])
    for i in range(15)
)
_PHYSICS = b"".join(
    b"%d %d %s\n" % (i, i % 2, b" ".join(b"%d.5" % (i * j) for j in range(5))) for i in range(12)
)
_VECTORS = b"".join(b"%d  1:0.5 %d:1e-3\n" % (2286 + i, 3 + i) for i in range(20))
_TOPICS = b"".join(b"%s %d 1\n" % ((b"CCAT", b"M11")[i % 2], 2286 + i) for i in range(20))
_IMAGES = struct.pack(">iiii", 0x803, 6, 2, 3) + bytes(range(36))
_LABELS = struct.pack(">ii", 0x801, 6) + bytes([0, 1] * 3)


def _mat(compressed: bool) -> bytes:
    out = io.BytesIO()
    content = {
        "x": np.arange(12.0).reshape(6, 2),
        "t": np.array([[1.0, -1.0] * 3]).T,
        "train": np.array([[1, 2, 3]], dtype=np.uint8),
        "test": np.array([[4, 5, 6]], dtype=np.uint8),
    }
    savemat(out, {"banana": content}, do_compression=compressed)
    return out.getvalue()


def _npz(dense: bool) -> bytes:
    out = io.BytesIO()
    y = np.array([1.0, -1.0])
    if dense:
        np.savez(out, y=y, X=np.ones((2, 13)))
    else:
        parts = {
            "data": np.ones(2),
            "indices": np.arange(2, dtype=np.int32),
            "indptr": np.arange(3, dtype=np.int32),
        }
        np.savez(out, y=y, **parts)
    return out.getvalue()


def _adult(path: Path) -> object:
    records = read_adult(path)
    return AdultEncoder.fit(records).encode(records)


def _apart(
    name: str, seed: bytes, read: Callable[[Path, Path], object]
) -> Callable[[tuple[bytes, bytes]], object]:
    def run(contents: tuple[bytes, bytes]) -> object:
        first, second = folder() / "first", folder() / "second"
        first.write_bytes(contents[0])
        second.write_bytes(contents[1])
        return read(first, second)

    return run


def _stored(path: Path) -> object:
    for name in ("adult", "mnist-8" if "mnist-8" in known_sets.registry().downloaded else "adult"):
        _load(path, known_sets.registry().downloaded[name])
    return None


def _readers() -> Iterator[Target]:
    def reader(name: str, inputs: SearchStrategy[Any], run: Callable[[Any], object]) -> Target:
        return Target(f"reader/{name}", inputs, run, (DataError,))

    yield reader("libsvm", mutated(_LIBSVM), on_file(lambda path: read_libsvm(path, features=13)))
    yield reader("libsvm of one's own", mutated(_LIBSVM), on_file(read_libsvm))
    numbers = Columns()
    yield reader(
        "delimited",
        mutated(_NUMBERS),
        on_file(lambda path: read_delimited(path, features=3, labels=SIGNS, columns=numbers)),
    )
    votes = Columns(label="first", values=({"y": 1.0, "n": 0.0},), missing="?")
    parties = {"democrat": -1.0, "republican": 1.0}
    yield reader(
        "delimited texts",
        mutated(_VOTES),
        on_file(lambda path: read_delimited(path, features=3, labels=parties, columns=votes)),
    )
    yield reader("adult", mutated(_ADULT), on_file(_adult))
    yield reader(
        "physics",
        mutated(_PHYSICS),
        on_file(lambda path: read_physics(path, features=5, labels={0.0: -1.0, 1.0: 1.0})),
    )
    yield reader(
        "mat-splits",
        mutated(_mat(False), _mat(True)),
        on_file(lambda path: read_splits(path, variable="banana", features=2, labels=SIGNS)),
    )
    yield reader(
        "idx",
        st.tuples(mutated(_IMAGES), st.one_of(st.just(_LABELS), mutated(_LABELS))),
        _apart("idx", _IMAGES, lambda a, b: read_images(a, b, features=6, signs={0.0: -1.0, 1.0: 1.0})),
    )
    yield reader(
        "lyrl2004",
        st.tuples(mutated(_VECTORS), st.one_of(st.just(_TOPICS), mutated(_TOPICS))),
        _apart("lyrl2004", _VECTORS, lambda a, b: read_documents([a], b, topic="CCAT", features=47_236)),
    )
    yield reader("lyrl2004 counts", mutated(_VECTORS, _TOPICS), on_file(_counts))
    yield reader("prepared", mutated(_npz(True), _npz(False)), on_file(_stored, "file.npz"))
    ledger = json.dumps(
        {"a1a": {"stamp": [1, 2], "expected": ["x", None, 3], "sha256": "x", "origin": "y"}}
    ).encode()
    yield reader("ledger", mutated(ledger), on_file(lambda path: Ledger(path.parent), ".verified.json"))


def _counts(path: Path) -> object:
    with contextlib.suppress(DataError):
        count_documents(path, 47_236)
    return count_topics(path)


# -- wrappers and servers ---------------------------------------------------------------------------


def _archive(method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("set/toy", _LIBSVM)
        archive.writestr("readme", b"hello")
    return out.getvalue()


def _unpack(kind: str) -> Callable[[Path], object]:
    def run(path: Path) -> object:
        target = folder() / "target"
        if kind == "zip":
            extract_member(path, "set/toy", target, LIMIT, "all.zip")
        else:
            decompress(path, kind, target, LIMIT, "toy")
        assert target.stat().st_size <= LIMIT
        return None

    return run


def _wrappers() -> Iterator[Target]:
    kinds = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "compress": compress_lzw}
    for kind, compress in kinds.items():
        seeds = mutated(compress(_LIBSVM), compress(bytes(2 * LIMIT)), compress(b""))
        yield Target(f"wrapper/{kind}", seeds, on_file(_unpack(kind)), (SourceError,))
    zips = mutated(
        *(_archive(method) for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    )
    yield Target("wrapper/zip", zips, on_file(_unpack("zip")), (SourceError,))
    texts = st.one_of(
        st.text(max_size=60), mutated(b"http://example.org:80/a/b?c#d").map(lambda b: b.decode("latin-1"))
    )
    yield Target(
        "server/redirect", texts, lambda text: _redirected("http://example.org/toy", text), (SourceError,)
    )
    yield Target("server/number", st.one_of(st.none(), texts), _number, ())


# -- configuration ----------------------------------------------------------------------------------

_PAPER = """
paper: mini
title: Mini
experiments:
  one:
    title: One
    dataset: noise
    kernel: {name: gaussian, sigma2: 10}
    C: 1
    sizes: [50, 100]
    seeds: [0, 1]
    axis: {C: [0.1, 1]}
    contenders:
      smo: {solver: smo, storage: index, options: {step_tol: 1.0e-3}}
      chunking: {solver: chunking, memory_limit_mb: 128, time_limit: 5}
  two:
    title: Two
    dataset: adult
    kernel: {name: linear}
    C_total: 100
    bias: false
    sizes: [1605, 2265]
    permutations: 3
    measures: [accuracy]
    test: {rows: 100}
    contenders:
      ocas: {solver: ocas, permutations: 1}
artefacts:
  timing-one: {kind: timing, form: table, experiment: one, title: One, caption: "A caption"}
  loglog: {kind: loglog, form: figure, title: All, experiments: [one, two]}
"""
_SCALE = """
repeats: 2
time_limit: 10
most_permutations: 2
experiments: {mini: {one: {sizes: [50], contenders: {chunking: null}}}}
"""
_MAIN = """
scale: default
data_dir: data
results_dir: results
figures_dir: figures
mirror: null
require_data: false
timed_jobs: 1
job: experiment
papers: [mini]
repeats: 3
repeat_budget: 60
datasets: {mine: {path: mine.libsvm}}
experiments: {mini: {two: null}}
"""
FILES = {"config.yaml": _MAIN, "smoke.yaml": _SCALE, "experiments/mini.yaml": _PAPER}


@functools.cache
def _config_folder() -> Path:
    target = folder() / "config"
    (target / "experiments").mkdir(parents=True)
    (target / "schema.yaml").write_bytes((config_dir() / "schema.yaml").read_bytes())
    for name, text in FILES.items():
        (target / name).write_text(text)
    return target


def _loaded(overrides: Any, scale: str = "smoke") -> None:
    config = load_config(
        overrides if "scale" in overrides else {"scale": scale, **overrides}, _config_folder()
    )
    path = folder() / "resolved.json"
    path.write_text(dump_config(config))
    assert read_config(path) == config
    for paper in config.papers.values():
        for experiment in paper.experiments.values():
            below = config.results_dir / config.scale / paper.name / experiment.name / "runs"
            for job, file in zip(
                jobs(config, experiment), job_files(config, paper.name, experiment.name), strict=True
            ):
                assert file.parent == below and ".." not in file.parts[-4:]
                # What Snakemake compares has to be the same for the same configuration.
                assert job.wanted() == job.wanted()


def _with_file(name: str) -> Callable[[bytes], object]:
    def run(content: bytes) -> object:
        path = _config_folder() / name
        path.write_bytes(content)
        try:
            return _loaded({})
        finally:
            path.write_text(FILES[name])

    return run


_strange = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, 10**19, math.inf, -math.inf, math.nan, 1e308, 0, -1]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from([token.decode("latin-1") for token in _TOKENS]),
    st.dates(),
    st.binary(max_size=5),
    st.sampled_from(
        ["smo", "linear", "adult", "noise", "one", "two", "smoke", "C", "eps", "one-hot", "accuracy", "a.b:c"]
    ),
)
_values = st.recursive(
    _strange,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(max_size=8), _strange), inner, max_size=3),
    ),
    max_leaves=8,
)


def _places(content: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the key of every value, and of a new one in every mapping."""
    if at:
        yield at
    if isinstance(content, dict):
        yield (*at, "new")
        for key, value in content.items():
            yield from _places(value, (*at, key))


_KEYS = [
    *_places(yaml.safe_load(_MAIN)),
    *(
        ("experiments", "mini", *key[1:])
        for key in _places(yaml.safe_load(_PAPER))
        if key[0] == "experiments" and key[1:]
    ),
]


def _overridden(changes: list[tuple[tuple[Any, ...], Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in changes:
        inner = found
        for part in key[:-1]:
            if not isinstance(inner.get(part), dict):
                inner[part] = {}
            inner = inner[part]
        inner[key[-1]] = value
    return found


def _claims(path: Path) -> object:
    return read_claims(path, ["adult-linear", "adult-gaussian", "web-linear", "noise-linear"])


def _numbers(path: Path) -> object:
    numbers = PaperNumbers(path.parent, "fuzz")
    return numbers.machine, numbers.sizes("adult-linear"), numbers.series("adult-linear", "smo")


def _configuration() -> Iterator[Target]:
    for name, text in FILES.items():
        yield Target(f"config/{name}", mutated(text.encode()), _with_file(name), (StepError,))
    overrides = st.lists(st.tuples(st.sampled_from(_KEYS), _values), min_size=1, max_size=3).map(_overridden)
    yield Target("config/overrides", overrides, _loaded, (StepError,))
    claims = (config_dir() / "claims" / "platt1998.yaml").read_bytes()[:6000]
    yield Target("config/claims", mutated(claims), on_file(_claims, "claims.yaml"), (StepError,))
    registry = (Path(known_sets.__file__).parent / "registry.yaml").read_bytes()
    small = registry[: registry.index(b"\n  a1a:")] if b"\n  a1a:" in registry else registry[:6000]
    tail = registry[registry.index(b"\ngenerated:") :]
    entry = small[: small.rindex(b"\n\n")] + tail
    yield Target(
        "config/registry",
        mutated(entry).map(lambda b: b.decode("utf-8", "replace")),
        parse_registry,
        (RegistryError,),
    )
    printed = (config_dir() / "papers" / "platt1998_timings.csv").read_bytes()
    yield Target("config/papers", mutated(printed), on_file(_numbers, "fuzz_timings.csv"), (StepError,))
    line = json.dumps({"schema": 1, "run_id": "x", "n": 5, "machine": {}, "flagged": False}).encode()
    yield Target("results/journal", mutated(line), decode, (ValueError,))
    table = b"experiment,contender,n,status,repeat,point\none,smo,50,optimal,0,\none,smo,100,optimal,1,2.5\n"
    yield Target(
        "results/measurements", mutated(table), on_file(lambda path: read_runs([path]), "m.csv"), (StepError,)
    )
    resolved = dump_config(load_config({"scale": "smoke"}, _config_folder())).encode()
    yield Target("results/configuration", mutated(resolved), on_file(read_config, "r.json"), (StepError,))


def targets() -> dict[str, Target]:
    """Return all targets by name."""
    found = [*_readers(), *_wrappers(), *_configuration()]
    return {target.name: target for target in found}
