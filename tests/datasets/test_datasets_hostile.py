"""Archives and servers that mean harm: refused in one line, soon, and nothing written beside the folder."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from datasets_support import (
    QUICK,
    ROWS,
    Answer,
    Handler,
    Server,
    compress_lzw,
    left_in,
    libsvm_text,
    make_entry,
    reason,
    sha,
    zipped,
)
from svmrepro.datasets.download.archive import decompress, extract_member
from svmrepro.datasets.download.http import Network, _redirected
from svmrepro.datasets.errors import SourceError
from svmrepro.datasets.registry.model import DownloadedEntry

CONTENT = libsvm_text()
BOMB = 10 * 2**30
_BLOCK = bytes(10 * 2**20)


@pytest.fixture(autouse=True)
def nothing_beside(tmp_path: Path) -> Iterator[None]:
    """Whatever a test does in the folders below ``data``, nothing else may appear."""
    yield
    assert {path.name for path in tmp_path.iterdir()} <= {"data", "mirror", "bomb"}
    assert not list(tmp_path.rglob("*evil*"))


# -- wrappers ---------------------------------------------------------------------------------------


def repeated(compress: Callable[[bytes], bytes]) -> bytes:
    """Return ten gigabytes of zeros as a file of streams one behind the other."""
    return compress(_BLOCK) * (BOMB // len(_BLOCK))


def zip_bomb(says: int) -> bytes:
    """Return an archive whose one member is ten gigabytes, and says that it is of another size."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = squeeze.compress(_BLOCK) + squeeze.flush(zlib.Z_FULL_FLUSH)
    stream = block * (BOMB // len(_BLOCK)) + zlib.compress(b"", wbits=-15)
    archive = zipped({"set/toy": b"x" * 100})
    at = archive.index(b"set/toy") + len("set/toy")
    end = archive.index(b"PK\x01\x02")
    directory = bytearray(archive[end:])
    directory[20:24] = len(stream).to_bytes(4, "little")
    directory[24:28] = says.to_bytes(4, "little")
    tail = directory.index(b"PK\x05\x06")
    directory[tail + 16 : tail + 20] = (at + len(stream)).to_bytes(4, "little")
    return archive[:at] + stream + bytes(directory)


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: repeated(gzip.compress),
    "bzip2": lambda: repeated(bz2.compress),
    "xz": lambda: repeated(lzma.compress),
    "zip": lambda: zip_bomb(4 * 10**9),
    "zip that lies": lambda: zip_bomb(100),
}

UNPACK = """
import resource, sys
from pathlib import Path
from svmrepro.datasets.download.archive import decompress, extract_member
from svmrepro.datasets.errors import SourceError
kind, path, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    if kind.startswith("zip"):
        extract_member(path, "set/toy", target, 1_000_000, "bomb")
    else:
        decompress(path, kind, target, 1_000_000, "bomb")
except SourceError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("kind", BOMBS)
def test_ten_gigabytes_are_not_unpacked(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(BOMBS[kind]())
    assert path.stat().st_size < BOMB / 500
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", UNPACK, kind, str(path), str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    said, megabytes = ended.stdout.splitlines()
    assert ("Bad CRC-32" if kind == "zip that lies" else "is longer than the 1000000 bytes expected") in said
    assert int(megabytes) < 100
    assert (tmp_path / "data").stat().st_size <= 1_000_000
    assert time.monotonic() - began < 30  # unpacking all of it takes minutes


def test_a_file_of_ten_gigabytes_in_a_mirror_is_left_there(
    toy: DownloadedEntry, tmp_path: Path, server: Server
) -> None:
    huge = tmp_path / "mirror" / "toy" / "toy"
    huge.parent.mkdir(parents=True)
    with huge.open("wb") as stream:
        stream.truncate(BOMB)
    said = reason(toy, tmp_path / "data", mirror=tmp_path / "mirror")
    assert f"toy is longer than the {len(CONTENT)} bytes expected" in said
    assert left_in(tmp_path / "data") == []


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_zipfile_unpacks_at_once_are_refused(tmp_path: Path, method: int) -> None:
    # A megabyte of bzip2 stands for gigabytes, and zipfile asks such a decompressor for all of it.
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("set/toy", _BLOCK)
    with pytest.raises(SourceError, match=rf"set/toy of all\.zip is compressed by method {method}"):
        extract_member(path, "set/toy", tmp_path / "data", 1000, "all.zip")
    assert not (tmp_path / "data").exists()


def gzip_with_name(name: bytes) -> bytes:
    plain = gzip.compress(CONTENT, mtime=0)
    return plain[:3] + b"\x08" + plain[4:10] + name + b"\0" + plain[10:]


@pytest.mark.parametrize("name", [b"../../evil", b"/tmp/evil", b"evil\n"])
def test_the_name_within_a_gzip_file_is_of_no_account(tmp_path: Path, name: bytes) -> None:
    (tmp_path / "mirror").write_bytes(gzip_with_name(name))
    target = tmp_path / "data"
    decompress(tmp_path / "mirror", "gzip", target, len(CONTENT), "toy.gz")
    assert target.read_bytes() == CONTENT


def tar_of_links() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind, link in (
            ("toy", tarfile.SYMTYPE, "/etc/passwd"),
            ("../evil", tarfile.LNKTYPE, "toy"),
            ("/evil", tarfile.SYMTYPE, "../.."),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            archive.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize("wrap", [gzip.compress, compress_lzw])
def test_no_tar_is_ever_unpacked(tmp_path: Path, wrap: Callable[[bytes], bytes], server: Server) -> None:
    kind, suffix = ("gzip", ".gz") if wrap is gzip.compress else ("compress", ".Z")
    entry = make_entry(f"""
    toy:
      rows: {ROWS}
      forms: [{{file: toy{suffix}, compression: {kind}, max_bytes: 100000}}]
      sources: ["{server.url}/toy{suffix}"]
    """)
    mirror = tmp_path / "mirror" / "toy"
    mirror.mkdir(parents=True)
    (mirror / f"toy{suffix}").write_bytes(wrap(tar_of_links()))
    assert "is not a number" in reason(entry, tmp_path / "data", mirror=tmp_path / "mirror")
    assert left_in(tmp_path / "data") == []


def test_a_link_among_the_members_of_an_archive_is_read_as_text(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("set/toy")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "bomb", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    extract_member(tmp_path / "bomb", "set/toy", tmp_path / "data", 100, "all.zip")
    assert (tmp_path / "data").read_bytes() == b"/etc/passwd"
    assert not (tmp_path / "data").is_symlink()


def test_a_header_that_asks_for_too_much_memory(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1536 * 2**20, "mode": lzma.MODE_FAST, "nice_len": 4}]
    script = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from svmrepro.datasets.download.archive import decompress\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({2**30}, {2**30}))\n"
        "decompress(Path(sys.argv[1]), 'xz', Path(sys.argv[2]), 1000, 'toy.xz')\n"
    )
    # The size of the dictionary stands in the header alone: 37 is 1.5 GiB.
    small = bytearray(lzma.compress(CONTENT, filters=[{**filters[0], "dict_size": 2**20}]))
    header = slice(12, 12 + (small[12] + 1) * 4)
    assert small[16] == 16
    small[16] = 37
    small[header.stop - 4 : header.stop] = zlib.crc32(bytes(small[12 : header.stop - 4])).to_bytes(
        4, "little"
    )
    (tmp_path / "mirror").write_bytes(bytes(small))
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "mirror"), str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert ended.stderr.splitlines()[-1].startswith("svmrepro.datasets.errors.SourceError: toy.xz is damaged")


# -- servers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("file:///etc/passwd", "which is no address"),
        ("file://localhost/etc/passwd", "another scheme (file), refused"),
        ("ftp://127.0.0.1/toy", "another scheme (ftp), refused"),
        ("https://127.0.0.1/toy", "another scheme (https), refused"),
        ("data:text/plain,1", "which is no address"),
        ("", "which is no address"),
        ("http://", "more than 5 redirects"),
        ("http://[", "Invalid IPv6 URL"),
        ("http://127.0.0.1:99999/", "which is no address"),
        ("http://127.0.0.1:x/", "which is no address"),
    ],
)
def test_redirects_that_are_refused(
    toy: DownloadedEntry, server: Server, tmp_path: Path, location: str, said: str, network: object
) -> None:
    server.answers["/toy"] = lambda handler: handler.reply(302, Location=location)
    assert said in reason(toy, tmp_path / "data", network=network)
    assert left_in(tmp_path / "data") == []
    assert set(server.paths()) == {"/toy"}


def test_a_redirect_may_not_leave_a_secure_connection() -> None:
    with pytest.raises(SourceError, match=r"another scheme \(http\), refused"):
        _redirected("https://example.org/a", "http://example.org/a")
    assert _redirected("https://example.org/a/b", "c") == "https://example.org/a/c"


def raw(*pieces: bytes, endless: bytes = b"", pause: float = 0.0) -> Answer:
    """Answer with these bytes and then, until the client leaves or the test ends, with more of others."""

    def answer(handler: Handler) -> None:
        for piece in pieces:
            handler.wfile.write(piece)
        while endless and not handler.server.release.wait(pause):
            handler.wfile.write(endless)

    return answer


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (raw(OK, b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", CONTENT * 2), "more came than"),
        (raw(OK, b"Content-Length: -1\r\n\r\n", CONTENT[:50]), "bytes where"),
        (raw(OK, b"X: " + b"x" * 70_000 + b"\r\n\r\n", CONTENT), "broke before an answer"),
        (raw(OK, b"X: y\r\n" * 200 + b"\r\n", CONTENT), "broke before an answer"),
        (raw(OK, endless=b"X: y\r\n" * 100), "broke before an answer"),
        (raw(b"HTTP/1.1 200 " + b"x" * 70_000), "broke before an answer"),
        (raw(endless=b"HTTP/1.1 100 Continue\r\n\r\n"), "no answer"),
        (raw(OK, endless=b"X", pause=0.1), "no answer"),
        (raw(OK, b"\r\n", endless=bytes(8192)), "more came than"),
        (
            raw(OK, b"Transfer-Encoding: chunked\r\n\r\n", endless=b"1000\r\n" + bytes(4096) + b"\r\n"),
            "more came",
        ),
        (raw(OK, b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 100_000), "connection broke"),
        (raw(OK, b"Transfer-Encoding: chunked\r\n\r\n", endless=b"1\r\n+\r\n", pause=0.1), "stalled"),
        (raw(OK, b"Content-Encoding: gzip\r\n\r\n", gzip.compress(bytes(10**7))), "more came than"),
        (raw(b"\0" * 10_000), "broke before an answer"),
        (raw(b"SSH-2.0-hello\r\n"), "broke before an answer"),
    ],
)
def test_answers_that_are_no_file(
    toy: DownloadedEntry, server: Server, network: object, tmp_path: Path, answer: Answer, said: str
) -> None:
    server.answers["/toy"] = answer
    began = time.monotonic()
    assert said in reason(toy, tmp_path / "data", network=network)
    assert time.monotonic() - began < 10
    assert left_in(tmp_path / "data") == []


def test_a_server_that_is_always_just_about_alive(server: Server, tmp_path: Path) -> None:
    entry = make_entry(f"""
    toy:
      rows: {ROWS}
      max_bytes: 800000000
      sources: ["{server.url}/toy"]
    """)
    # Eight thousand bytes in every tenth of a second, for two and a half hours.
    server.answers["/toy"] = raw(OK, b"\r\n", endless=b"+1 1:1\n" * 1170, pause=0.1)
    patience = replace(QUICK, grace=1.0, pace=1_000_000.0)
    assert "too slow: " in reason(entry, tmp_path / "data", network=Network(patience))
    assert len(server.seen) == 2
    assert left_in(tmp_path / "data") == []


def test_redirects_that_lead_on_for_ever(
    toy: DownloadedEntry, server: Server, network: object, tmp_path: Path
) -> None:
    class Ever(dict[str, object]):
        def get(self, path: str, default: object = None) -> object:
            return lambda handler: handler.reply(302, Location=f"{path}0")

    server.answers = Ever()  # type: ignore[assignment]
    assert "more than 5 redirects" in reason(toy, tmp_path / "data", network=network)
    assert len(server.seen) == 6


def test_a_name_in_the_registry_cannot_lead_out_of_the_folder(server: Server) -> None:
    from svmrepro.datasets.registry.parse import RegistryError

    for name in ("../evil", "/etc/evil", "a/../../evil", "evil\n", "", ".."):
        with pytest.raises(RegistryError, match="toy"):
            make_entry(f"""
            toy:
              rows: {ROWS}
              forms: [{{file: {name!r}, bytes: 1, sha256: {sha(b"")}}}]
            """)
