"""Fuzz targets: every reader of external files, the configuration, and responses of servers.

A target gets bytes or plain data and either accepts them or raises its documented error in one line. Any
other error is a finding, and so is an input that takes seconds.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_arrays import arrays
from fuzz_configuration import configuration
from fuzz_inputs import Target, folder, mutated, on_file
from fuzz_strangers import strangers
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from scipy.io import savemat
from scipy.sparse import csr_matrix
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.download._verification import Ledger
from svmrepro.datasets.download.http import _number, _redirected
from svmrepro.datasets.download.unpacking import decompress, extract_member
from svmrepro.datasets.errors import DataError, SourceError
from svmrepro.datasets.readers._delimited import read_delimited
from svmrepro.datasets.readers._idx import read_images
from svmrepro.datasets.readers._lyrl2004 import count_documents, count_topics, read_documents
from svmrepro.datasets.readers._matfile import read_splits
from svmrepro.datasets.readers._physics import read_physics
from svmrepro.datasets.readers.adult import AdultEncoder, read_adult
from svmrepro.datasets.readers.libsvm import read_libsvm
from svmrepro.datasets.readers.npz import read_npz
from svmrepro.datasets.readers.own_table import read_table
from svmrepro.datasets.registry import Columns

sys.path.append(str(Path(__file__).resolve().parent.parent / "datasets"))
from datasets_support import compress_lzw

LIMIT = 100_000
SIGNS = {-1.0: -1.0, 1.0: 1.0}


# -- readers ----------------------------------------------------------------------------------------

_LIBSVM = b"".join(b"%+d %d:1 %d:0.5 13:-2e-3\n" % (1 - 2 * (i % 2), 1 + i % 5, 7 + i % 4) for i in range(30))
_TABLE = b'age;sick;"x, y"\n31;no;0.5\n42;yes;-1e3\n5;no;.7\n'
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
    out, y = io.BytesIO(), np.array([1.0, -1.0, 1.0])
    X = csr_matrix(np.array([[1.0, 0.0], [0.0, 2.5], [3.0, -4.0]]))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    np.savez(out, y=y, **({"X": X.toarray()} if dense else parts))
    return out.getvalue()


def _adult(path: Path) -> object:
    records = read_adult(path)
    return AdultEncoder.fit(records).encode(records)


def _apart(read: Callable[[Path, Path], object]) -> Callable[[tuple[bytes, bytes]], object]:
    def run(contents: tuple[bytes, bytes]) -> object:
        places = folder() / "first", folder() / "second"
        for place, content in zip(places, contents, strict=True):
            place.write_bytes(content)
        return read(*places)

    return run


def _sound(read: Callable[[Any], object]) -> Callable[[Any], None]:
    """Check the result of a reader that accepted a file."""

    def run(value: Any) -> None:
        data = read(value)
        if isinstance(data, ExampleSet):
            values = data.X if isinstance(data.X, np.ndarray) else data.X.data
            assert set(data.y) == {-1.0, 1.0} and np.isfinite(values).all()

    return run


def _readers() -> Iterator[Target]:
    def reader(name: str, inputs: SearchStrategy[Any], run: Callable[[Any], object]) -> Target:
        return Target(f"reader/{name}", inputs, _sound(run), (DataError,))

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
    ill = {"no": -1.0, "yes": 1.0}
    yield reader("table", mutated(_TABLE), on_file(lambda path: read_table(path, labels=ill, label="sick")))
    yield reader("npz", mutated(_npz(True), _npz(False)), on_file(lambda path: read_npz(path, labels=SIGNS)))
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
        _apart(lambda a, b: read_images(a, b, features=6, signs={0.0: -1.0, 1.0: 1.0})),
    )
    yield reader(
        "lyrl2004",
        st.tuples(mutated(_VECTORS), st.one_of(st.just(_TOPICS), mutated(_TOPICS))),
        _apart(lambda a, b: read_documents([a], b, topic="CCAT", features=47_236)),
    )
    yield reader("lyrl2004 counts", mutated(_VECTORS, _TOPICS), on_file(_counts))
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


def targets() -> dict[str, Target]:
    """Return all targets by name."""
    found = [*_readers(), *_wrappers(), *configuration(), *strangers(), *arrays()]
    return {target.name: target for target in found}
