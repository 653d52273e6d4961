"""Where a file may come from besides its host, what is accepted, and a folder that cannot be written."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from datasets_support import ROWS, Server, left_in, libsvm_text, make_entry, reason, sha, zipped
from svmrepro.datasets import StorageError
from svmrepro.datasets.download import verify
from svmrepro.datasets.download.http import Network
from svmrepro.datasets.download.search import ensure_file, fetch_entry
from svmrepro.datasets.registry.model import DownloadedEntry

CONTENT = libsvm_text()


# ---------------------------------------------------------------- mirrors


def test_a_mirror_folder_comes_before_the_host(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror"
    (mirror / "toy").mkdir(parents=True)
    (mirror / "toy" / "toy").write_bytes(CONTENT)
    stored = ensure_file(toy, "toy", tmp_path / "data", mirror, network=network)
    assert stored.path.read_bytes() == CONTENT
    assert stored.origin == "mirror"
    assert server.seen == []


def test_a_mirror_prefix_comes_before_the_host(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/copies/toy/toy"] = CONTENT
    stored = ensure_file(toy, "toy", tmp_path, f"{server.url}/copies/", network=network)
    assert stored.origin == "mirror"
    assert server.paths() == ["/copies/toy/toy"]


def test_the_mirror_of_the_environment(
    server: Server,
    toy: DownloadedEntry,
    network: Network,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.answers["/copies/toy/toy"] = CONTENT
    server.answers["/toy"] = CONTENT
    monkeypatch.setenv("SVMREPRO_MIRROR", f"{server.url}/copies")
    assert ensure_file(toy, "toy", tmp_path / "a", network=network).origin == "mirror"
    assert ensure_file(toy, "toy", tmp_path / "b", "", network=network).origin == f"{server.url}/toy"


def test_checksums_hold_for_a_mirror(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror"
    (mirror / "toy").mkdir(parents=True)
    (mirror / "toy" / "toy").write_bytes(CONTENT.replace(b"+1", b"-1", 1))
    message = reason(toy, tmp_path / "data", mirror=mirror, network=network)
    assert f"mirror {mirror}/toy/toy: wrong checksum" in message
    assert f"{server.url}/toy: HTTP 404" in message
    server.answers["/toy"] = CONTENT
    assert ensure_file(toy, "toy", tmp_path / "data", mirror, network=network).origin.endswith("/toy")


def test_a_mirror_of_an_unknown_scheme(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    message = reason(toy, tmp_path, mirror="ftp://example.org/data", network=network)
    assert "ftp scheme: only http and https are known" in message


def test_a_mirror_that_lacks_the_file(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    assert "No such file" in reason(toy, tmp_path / "data", mirror=tmp_path / "nowhere", network=network)


# ---------------------------------------------------------------- files that are there


def test_a_file_put_there_by_hand_is_accepted(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    folder = tmp_path / "raw" / "toy"
    folder.mkdir(parents=True)
    (folder / "toy").write_bytes(CONTENT)
    assert ensure_file(toy, "toy", tmp_path, download=False).sha256 == sha(CONTENT)
    assert server.seen == []


def test_a_wrong_file_put_there_by_hand_is_named_and_kept(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    folder = tmp_path / "raw" / "toy"
    folder.mkdir(parents=True)
    (folder / "toy").write_bytes(b"mine\n")
    assert f"{folder}/toy: 5 bytes where {len(CONTENT)} were expected" in reason(
        toy, tmp_path, network=network
    )
    assert (folder / "toy").read_bytes() == b"mine\n"


def test_a_corrupted_file_is_replaced(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = CONTENT
    path = ensure_file(toy, "toy", tmp_path, network=network).path
    path.write_bytes(CONTENT[::-1])
    assert ensure_file(toy, "toy", tmp_path, network=network).path.read_bytes() == CONTENT
    assert len(server.seen) == 2


def test_a_good_file_is_hashed_once(
    server: Server,
    toy: DownloadedEntry,
    network: Network,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.answers["/toy"] = CONTENT
    path = ensure_file(toy, "toy", tmp_path, network=network).path
    hashed: list[Path] = []

    def counting(path: Path) -> str:
        hashed.append(path)
        return sha(path.read_bytes())

    monkeypatch.setattr(verify, "sha256_of", counting)
    ensure_file(toy, "toy", tmp_path, network=network)
    assert hashed == []
    os.utime(path, ns=(0, 0))
    ensure_file(toy, "toy", tmp_path, network=network)
    assert hashed == [path]
    (path.parent / ".verified.json").write_text("[" * 200_000)
    ensure_file(toy, "toy", tmp_path, network=network)
    assert hashed == [path, path]


def test_without_download_no_source_is_asked(server: Server, toy: DownloadedEntry, tmp_path: Path) -> None:
    server.answers["/toy"] = CONTENT
    message = reason(toy, tmp_path, download=False, mirror=f"{server.url}/copies")
    assert "it has not been fetched" in message
    assert server.seen == []
    assert not (tmp_path / "raw").exists()


# ---------------------------------------------------------------- other ways to be right


def test_the_same_rows_in_another_spelling(server: Server, network: Network, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_bytes(CONTENT)
    entry = make_entry(f"""
    toy:
      rows: {ROWS}
      bytes: {len(CONTENT)}
      sha256: {sha(b"another spelling")}
      rows_sha256: {verify.canonical_sha256(given)}
      sources: ["{server.url}/toy"]
    """)
    server.answers["/toy"] = CONTENT.replace(b"+1", b"1").replace(b"\n", b" \n")
    assert ensure_file(entry, "toy", tmp_path / "a", network=network).sha256 != sha(CONTENT)
    server.answers["/toy"] = CONTENT.replace(b"13:1", b"12:1", 1)
    assert "wrong checksum" in reason(entry, tmp_path / "b", network=network)


def neighbours(server: Server) -> DownloadedEntry:
    lines = CONTENT.splitlines(keepends=True)
    parts = {"small": b"".join(lines[::4]), "large": CONTENT}
    for name, content in parts.items():
        server.answers[f"/{name}"] = content
    server.answers["/middle"] = b"".join(lines[::2][:-1] + lines[-1:])
    return make_entry(
        f"""
        middle:
          rows: {ROWS // 2}
          max_bytes: 5000
          between: [small, large]
          sources: ["{server.url}/middle"]
        small: {{rows: {ROWS // 4}, bytes: {len(parts["small"])}, sha256: {sha(parts["small"])},
                 sources: ["{server.url}/small"]}}
        large: {{rows: {ROWS}, bytes: {len(CONTENT)}, sha256: {sha(CONTENT)},
                 sources: ["{server.url}/large"]}}
        """,
        subsets="[small, middle, large]",
    )


def test_a_file_without_checksum_is_judged_by_its_place(
    server: Server, network: Network, tmp_path: Path
) -> None:
    entry = neighbours(server)
    fetched = fetch_entry(entry, tmp_path, network=network)
    assert list(fetched.files) == ["small", "large", "middle"]
    assert fetched.missing == {}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda lines: lines[1:], f"{ROWS // 2 - 1} rows where {ROWS // 2} were expected"),
        (lambda lines: [b"-1 14:1\n", *lines[1:]], "middle:1: index 14 is out of range 1 to 13"),
        (lambda lines: [b"-1 3:1\n", *lines[1:]], "the rows of small are not among its own"),
        (lambda lines: [lines[0], b"+1 13:1\n", *lines[2:]], "its rows are not among those of large"),
        (lambda lines: lines[::-1], "in the same order"),
    ],
)
def test_a_file_without_checksum_is_refused(
    server: Server,
    network: Network,
    tmp_path: Path,
    change: Callable[[list[bytes]], list[bytes]],
    what: str,
) -> None:
    entry = neighbours(server)
    lines = server.answers["/middle"]
    assert isinstance(lines, bytes)
    server.answers["/middle"] = b"".join(change(lines.splitlines(keepends=True)))
    fetched = fetch_entry(entry, tmp_path, network=network)
    assert list(fetched.files) == ["small", "large"], "the others go on"
    assert what in " ".join(fetched.missing["middle"])


# ---------------------------------------------------------------- folders that cannot be written


def in_child(action: Callable[[], None]) -> str:
    """Run ``action`` in a forked child; return the error that it raised, as text."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        try:
            action()
            text = "nothing was raised"
        except StorageError as error:
            text = f"StorageError: {error}"
        except BaseException:
            text = traceback.format_exc()
        os.write(write_end, text.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


def unprivileged() -> None:
    """Give up root, which may write anywhere."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that other users can reach, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def test_an_unwritable_folder(
    server: Server, toy: DownloadedEntry, network: Network, open_path: Path
) -> None:
    server.answers["/toy"] = CONTENT
    closed = open_path / "closed"
    closed.mkdir(mode=0o555)

    def fetch() -> None:
        unprivileged()
        ensure_file(toy, "toy", closed, network=network)

    text = in_child(fetch)
    assert text == f"StorageError: {closed}/raw/toy: cannot be written: Permission denied"
    assert list(closed.iterdir()) == []
    assert server.seen == []

    # What is there already can be used from a folder that cannot be written.
    closed.chmod(0o755)
    ensure_file(toy, "toy", closed, network=network)
    (closed / "raw" / "toy" / ".verified.json").unlink()
    for folder in (closed, closed / "raw", closed / "raw" / "toy"):
        folder.chmod(0o555)

    def use() -> None:
        unprivileged()
        assert ensure_file(toy, "toy", closed, download=False).sha256 == sha(CONTENT)

    assert in_child(use) == "nothing was raised"


@pytest.mark.parametrize("source", ["host", "mirror", "archive"])
def test_a_full_disk(server: Server, network: Network, tmp_path: Path, source: str) -> None:
    big = libsvm_text(20_000)
    server.answers["/toy"] = big
    server.answers["/all.zip"] = zipped({"toy": big})
    mirror = tmp_path / "mirror"
    (mirror / "toy").mkdir(parents=True)
    (mirror / "toy" / "toy").write_bytes(big)
    url = f'{{url: "{server.url}/all.zip", member: toy}}' if source == "archive" else f'"{server.url}/toy"'
    entry = make_entry(f"toy: {{rows: 20000, bytes: {len(big)}, sha256: {sha(big)}, sources: [{url}]}}")

    def fetch() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        ensure_file(entry, "toy", tmp_path / "data", mirror if source == "mirror" else "", network=network)

    text = in_child(fetch)
    assert text.startswith(f"StorageError: {tmp_path}/data/raw/toy/"), text
    assert text.endswith("cannot be written: File too large")
    assert "\n" not in text
    assert left_in(tmp_path / "data") == []
