"""Fuzz targets and their inputs: valid files with injected faults, under a time limit."""

from __future__ import annotations

import contextlib
import functools
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

#: Seconds after which an input counts as hanging; the slowest valid one takes a tenth of a second.
PATIENCE = 5.0


class HangError(Exception):
    """An input took longer than :data:`PATIENCE`."""


@dataclass(frozen=True)
class Target:
    """A fuzz target: its inputs, the function under test, and the errors that it documents."""

    name: str
    inputs: SearchStrategy[Any]
    run: Callable[[Any], object]
    errors: tuple[type[Exception], ...]

    def try_one(self, value: Any) -> None:
        """Try an input; undocumented errors propagate."""
        with alarm():
            try:
                self.run(value)
            except self.errors as error:
                said = str(error)
                assert said and "\n" not in said, f"not one line: {said[:500]!r}"
                assert len(said) < 2000, f"a line of {len(said)} characters: {said[:200]!r}"


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

#: Strings that have broken programs before.
TOKENS = [
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
        st.one_of(st.sampled_from(TOKENS), st.binary(max_size=12)),
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
    """Valid files with injected faults, and sometimes arbitrary bytes."""
    edited = st.builds(_edited, st.sampled_from(seeds), _edits)
    return st.one_of(edited, edited, edited, st.binary(max_size=300))


@functools.cache
def folder() -> Path:
    """A folder of this process for input files."""
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


def on_file(read: Callable[[Path], object], name: str = "file") -> Callable[[bytes], object]:
    def run(content: bytes) -> object:
        path = folder() / name
        path.write_bytes(content)
        return read(path)

    return run


def nested(leaves: SearchStrategy[Any], keys: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Leaves, and lists and mappings of them."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=3)),
        max_leaves=8,
    )


def places(content: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each value inside mappings and lists."""
    if isinstance(content, list):
        content = dict(enumerate(content))
    for key, value in content.items() if isinstance(content, dict) else ():
        yield (*at, key)
        yield from places(value, (*at, key))
