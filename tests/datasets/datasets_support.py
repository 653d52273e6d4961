"""A local HTTP server that misbehaves on request, and small data sets served by it."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from svmrepro.datasets import DataError, DatasetUnavailable, loading
from svmrepro.datasets.download.http import Limits, Network
from svmrepro.datasets.download.raw_files import StoredFile, ensure_file
from svmrepro.datasets.registry import DownloadedEntry, Registry, parse_registry

ROWS = 120
QUICK = Limits(connect=10.0, start=20.0, silence=20.0, back_off=0.01)
HASTY = replace(QUICK, connect=0.5, start=0.6, silence=0.4)
"""Limits for servers that never answer; others may be slow, as the machine of a test may be."""

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers.get("Range")))
        self.close_connection = True
        answer = self.server.answers.get(self.path)
        try:
            if answer is None:
                self.reply(404, b"no such page")
            elif callable(answer):
                answer(self)
            else:
                self.file(answer)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has left, as some tests want it to

    def reply(self, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def offset(self) -> int:
        text = self.headers.get("Range", "")
        return int(text.removeprefix("bytes=").rstrip("-")) if text else 0

    def file(self, body: bytes, most: int | None = None) -> None:
        """Serve a file with ranges; with ``most``, close the connection after that many bytes."""
        start = self.offset()
        if start >= len(body) > 0:
            self.reply(416)
            return
        span = {"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        self.reply(206 if start else 200, body[start:][:most], length=len(body) - start, **span)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, bytes | Answer] = {}
        self.seen: list[tuple[str, str | None]] = []
        self.release = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def paths(self) -> list[str]:
        return [path for path, _ in self.seen]


def libsvm_text(rows: int = ROWS, skip: int = 0) -> bytes:
    """Return rows of a small set: labels alternate, and every row differs from its neighbours."""
    lines = [f"{'+1' if i % 2 else '-1'} {1 + i % 7}:1 {9 + i % 5}:1" for i in range(skip, skip + rows)]
    return ("\n".join(lines) + "\n").encode()


CONTENT = libsvm_text()


def compress_lzw(content: bytes, widest: int = 16, *, clears: bool = True) -> bytes:
    """Return the output of Unix compress; with ``clears`` the table is cleared as soon as it is full."""
    first = 257 if clears else 256
    singles = {bytes([byte]): byte for byte in range(256)}
    table, free, width = dict(singles), first, 9
    codes: list[tuple[int, int]] = []  # each with its width
    phrase = b""
    for i in range(len(content)):
        byte = content[i : i + 1]
        if phrase + byte in table:
            phrase += byte
            continue
        codes.append((width, table[phrase]))
        if free >= 1 << width and width < widest:
            width += 1
        if free < 1 << widest:
            table[phrase + byte] = free
            free += 1
        elif clears:
            codes.append((width, 256))
            table, free, width = dict(singles), first, 9
        phrase = byte
    if phrase:
        codes.append((width, table[phrase]))
    out = bytearray(b"\x1f\x9d" + bytes([0x80 * clears | widest]))
    # Codes come in groups of eight, and a group with another width begins at the end of a whole one.
    runs = [
        (width, [code for _, code in run]) for width, run in itertools.groupby(codes, lambda pair: pair[0])
    ]
    groups = [(width, run[at : at + 8]) for width, run in runs for at in range(0, len(run), 8)]
    for number, (width, group) in enumerate(groups, start=1):
        size = width if number < len(groups) else (len(group) * width + 7) // 8
        out += sum(code << width * i for i, code in enumerate(group)).to_bytes(size, "little")
    return bytes(out)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def one_set(keys: str) -> str:
    """Return a registry whose only set ``toy`` has these keys (YAML)."""
    about = "title: Toy\nlicence: none\ncitation: none\n"
    body = textwrap.indent(about + textwrap.dedent(keys).strip("\n"), " " * 4)
    return f"version: 1\ngenerated: {{}}\ndownloaded:\n  toy:\n{body}\n"


HEAD = one_set("""
reader: libsvm
features: 13
binary: true
labels: {-1: -1, 1: 1}
subsets: SUBSETS
files:
""")


def make_entry(files: str, subsets: str = "[toy]") -> DownloadedEntry:
    """Return the registry entry of a set ``toy`` with these files (YAML)."""
    body = textwrap.indent(textwrap.dedent(files).strip("\n"), " " * 6)
    return parse_registry(HEAD.replace("SUBSETS", subsets) + body).downloaded["toy"]


def toy_file(content: bytes, *sources: object, name: str = "toy", **more: object) -> str:
    """Return a file of a registry entry, with the rows, bytes and checksum of its content (YAML)."""
    size = {"rows": len(content.splitlines()), "bytes": len(content), "sha256": sha(content)}
    return f"{name}: {json.dumps({**size, 'sources': sources, **more})}"


def left_in(folder: Path) -> list[str]:
    """Return the files that a fetch left in a folder, except its lock and ledger."""
    names = sorted(path.name for path in folder.rglob("*") if path.is_file())
    return [name for name in names if name not in (".lock", ".verified.json")]


FETCH = """
import sys
sys.path.insert(0, sys.argv[1])
from datasets_support import make_entry
from svmrepro.datasets.download.raw_files import ensure_file
print(ensure_file(make_entry(sys.argv[2]), "toy", sys.argv[3], sys.argv[4]).path)
"""


@dataclass
class Site:
    """A set ``toy`` of one file whose only source is ``/toy`` of a server, and a folder to fetch it into."""

    server: Server
    folder: Path
    network: Network
    files: str

    @property
    def entry(self) -> DownloadedEntry:
        return make_entry(self.files)

    def serve(self, answer: bytes | Answer, path: str = "/toy") -> None:
        self.server.answers[path] = answer

    def offer(self, content: bytes, **more: object) -> None:
        """Make this content the set, at the server."""
        self.files = toy_file(content, f"{self.server.url}/toy", **more)

    def fetch(self, into: str = "data", **options: Any) -> StoredFile:
        return ensure_file(self.entry, "toy", self.folder / into, **{"network": self.network, **options})

    def start_fetch(self, *prefix: str, into: str = "data", mirror: str | Path = "") -> subprocess.Popen[str]:
        """Fetch in a separate process, behind a command that restricts its rights."""
        arguments = [str(Path(__file__).parent), self.files, str(self.folder / into), str(mirror)]
        return subprocess.Popen(
            [*prefix, sys.executable, "-c", FETCH, *arguments],
            env={**os.environ, "NO_PROXY": "*"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def refusal(self, into: str = "data", *, broken: bool = False, **options: Any) -> str:
        """Fetch without success; return the message, which is one line.

        Nothing of the download is left, unless it is ``broken`` and can be resumed.
        """
        before = left_in(self.folder / into)
        with pytest.raises(DatasetUnavailable) as caught:
            self.fetch(into, **options)
        assert "\n" not in str(caught.value)
        left = left_in(self.folder / into)
        assert [name for name in left if not (broken and name.endswith(".part"))] == before
        return str(caught.value)

    def mirror(self, content: bytes, name: str = "toy") -> Path:
        """Return a mirror that holds this file of the set."""
        return put(self.folder / "mirror" / "toy" / name, content).parent.parent


def put(path: Path, content: str | bytes) -> Path:
    """Write a file and the folders above it; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def use_registry(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Make the sets of this registry (YAML) the only ones known to ``load`` and ``fetch``."""
    parsed = parse_registry(text)
    monkeypatch.setattr(loading, "registry", lambda: Registry(parsed.downloaded, parsed.generated))


def refused(read: Callable[[], object], start: str, *words: str) -> None:
    """Check that reading raises a one-line error with this beginning and these words."""
    with pytest.raises(DataError) as caught:
        read()
    said = str(caught.value)
    assert said.startswith(start) and "\n" not in said
    assert all(word in said.removeprefix(start) for word in words), said


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
