"""Where a file may come from besides its host, what is accepted, and a folder that cannot be written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import resource
import shutil
import signal
import tempfile
import traceback
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from datasets_support import ROWS, Server, compress_lzw, left_in, libsvm_text, make_entry, sha
from svmrepro.datasets import DatasetUnavailable, StorageError, verify
from svmrepro.datasets.download import Network
from svmrepro.datasets.entries import DownloadedEntry
from svmrepro.datasets.fetching import ensure_file, fetch_entry

CONTENT = libsvm_text()


def reason(entry: DownloadedEntry, folder: Path, **options: object) -> str:
    with pytest.raises(DatasetUnavailable) as caught:
        ensure_file(entry, "toy", folder, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
    (path.parent / ".verified.json").write_text("{ spoilt")
    ensure_file(toy, "toy", tmp_path, network=network)
    assert hashed == [path, path]


def test_without_download_no_source_is_asked(server: Server, toy: DownloadedEntry, tmp_path: Path) -> None:
    server.answers["/toy"] = CONTENT
    message = reason(toy, tmp_path, download=False, mirror=f"{server.url}/copies")
    assert "it has not been fetched" in message
    assert server.seen == []
    assert not (tmp_path / "raw").exists()


# ---------------------------------------------------------------- wrappers


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def zip_entry(server: Server) -> DownloadedEntry:
    return make_entry(f"""
    toy:
      rows: {ROWS}
      bytes: {len(CONTENT)}
      sha256: {sha(CONTENT)}
      sources:
        - {{url: "{server.url}/all.zip", member: set/toy}}
    """)


def test_a_member_of_an_archive(server: Server, network: Network, tmp_path: Path) -> None:
    server.answers["/all.zip"] = zipped({"set/readme": b"hello", "set/toy": CONTENT})
    assert ensure_file(zip_entry(server), "toy", tmp_path, network=network).path.read_bytes() == CONTENT
    assert left_in(tmp_path) == ["toy"]


@pytest.mark.parametrize(
    ("archive", "what"),
    [
        (zipped({"/etc/evil": b"", "set/toy": CONTENT}), "unsafe name"),
        (zipped({"../../evil": b"", "set/toy": CONTENT}), "unsafe name"),
        (zipped({"set/../../evil": b"", "set/toy": CONTENT}), "unsafe name"),
        (zipped({"..\\evil": b"", "set/toy": CONTENT}), "unsafe name"),
        (zipped({"C:/evil": b"", "set/toy": CONTENT}), "unsafe name"),
        (zipped({"other": CONTENT}), "no member set/toy"),
        (zipped({"set/toy": bytes(10_000_000)}), f"longer than the {len(CONTENT)} bytes expected"),
        (b"PK not an archive at all", "no zip archive"),
        (zipped({"set/toy": CONTENT})[:200], "no zip archive"),
        (zipped({"set/toy": CONTENT}).replace(b"set/toy", b"set/t\xfdy", 1), "damaged"),
    ],
)
def test_archives_that_are_refused(
    server: Server, network: Network, tmp_path: Path, archive: bytes, what: str
) -> None:
    server.answers["/all.zip"] = archive
    assert what in reason(zip_entry(server), tmp_path / "data", network=network)
    assert left_in(tmp_path) == []


WRAP: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": (".gz", lambda content: gzip.compress(content, 1, mtime=1)),
    "bzip2": (".bz2", bz2.compress),
    "xz": (".xz", lzma.compress),
    "compress": (".Z", compress_lzw),
}


def wrapped_entry(server: Server, compression: str) -> DownloadedEntry:
    return make_entry(f"""
    toy:
      rows: {ROWS}
      forms:
        - file: toy{WRAP[compression][0]}
          compression: {compression}
          bytes: {len(CONTENT)}
          sha256: {sha(CONTENT)}
      sources: ["{server.url}/toy{WRAP[compression][0]}"]
    """)


@pytest.mark.parametrize("compression", WRAP)
def test_compressed_files_are_judged_by_their_content(
    server: Server, network: Network, tmp_path: Path, compression: str
) -> None:
    entry = wrapped_entry(server, compression)
    suffix, wrap = WRAP[compression]
    server.answers[f"/toy{suffix}"] = wrap(CONTENT)
    assert ensure_file(entry, "toy", tmp_path / "a", network=network).path.read_bytes() == CONTENT
    assert left_in(tmp_path) == ["toy"]

    server.answers[f"/toy{suffix}"] = CONTENT  # a server that unpacks what it sends
    assert ensure_file(entry, "toy", tmp_path / "b", network=network).path.read_bytes() == CONTENT

    by_hand = tmp_path / "c" / "raw" / "toy"
    by_hand.mkdir(parents=True)
    (by_hand / f"toy{suffix}").write_bytes(wrap(CONTENT))
    assert ensure_file(entry, "toy", tmp_path / "c", network=network).origin == "put there by hand"

    # The format of compress has neither length nor checksum: cut short, it gives less.
    cut = f"bytes where {len(CONTENT)} were expected" if compression == "compress" else "damaged"
    for content, what in (
        (wrap(CONTENT)[:-15], cut),
        (wrap(CONTENT[::-1]), "wrong checksum"),
        (wrap(bytes(1_000_000)), f"longer than the {len(CONTENT)} bytes"),
    ):
        server.answers[f"/toy{suffix}"] = content
        assert what in reason(entry, tmp_path / "d", network=network)
        assert left_in(tmp_path / "d") == []


@pytest.mark.parametrize("compression", WRAP)
def test_a_compressed_member_of_an_archive(
    server: Server, network: Network, tmp_path: Path, compression: str
) -> None:
    suffix, wrap = WRAP[compression]
    entry = make_entry(f"""
    toy:
      rows: {ROWS}
      forms:
        - {{bytes: {len(CONTENT)}, sha256: {sha(CONTENT)}}}
        - {{file: toy{suffix}, compression: {compression}, bytes: {len(CONTENT)}, sha256: {sha(CONTENT)}}}
      sources: [{{url: "{server.url}/all.zip", member: set/toy{suffix}, form: toy{suffix}}}]
    """)
    server.answers["/all.zip"] = zipped({f"set/toy{suffix}": wrap(CONTENT)})
    assert ensure_file(entry, "toy", tmp_path / "a", network=network).path.read_bytes() == CONTENT
    assert left_in(tmp_path / "a") == ["toy"]

    server.answers["/all.zip"] = zipped({f"set/toy{suffix}": CONTENT})
    assert ensure_file(entry, "toy", tmp_path / "b", network=network).path.read_bytes() == CONTENT

    server.answers["/all.zip"] = zipped({f"set/toy{suffix}": wrap(CONTENT[::-1])})
    assert "wrong checksum" in reason(entry, tmp_path / "c", network=network)
    assert left_in(tmp_path / "c") == []


@pytest.mark.parametrize("way", ["alone", "in an archive"])
def test_a_wrapper_whose_checksum_is_known_vouches_for_its_content(
    server: Server, network: Network, tmp_path: Path, way: str
) -> None:
    wrapped = gzip.compress(CONTENT, mtime=3)
    url = f"{server.url}/toy.gz" if way == "alone" else f"{server.url}/toys.zip"
    member = "" if way == "alone" else ", member: toy.gz"
    # One row more than there are: what is vouched for is not read, what is not is.
    entry = make_entry(f"""
    toy:
      rows: {ROWS + 1}
      forms: [{{file: toy.gz, compression: gzip, max_bytes: 9999, wrapper_sha256: {sha(wrapped)}}}]
      sources: [{{url: "{url}", form: toy.gz{member}}}]
    """)
    for content in (wrapped, gzip.compress(CONTENT, mtime=4)):
        server.answers["/toy.gz"] = content
        server.answers["/toys.zip"] = zipped({"toy.gz": content})
        folder = tmp_path / sha(content)
        if content == wrapped:
            assert ensure_file(entry, "toy", folder, network=network).path.read_bytes() == CONTENT
        else:
            said = reason(entry, folder, network=network)
            assert f"{ROWS} rows where {ROWS + 1} were expected" in said
        assert left_in(folder) == (["toy"] if content == wrapped else [])


def test_sets_that_share_a_folder_share_its_files(server: Server, network: Network, tmp_path: Path) -> None:
    server.answers["/all"] = CONTENT
    file = f"""
    toy:
      rows: {ROWS}
      forms: [{{file: all, bytes: {len(CONTENT)}, sha256: {sha(CONTENT)}}}]
      sources: ["{server.url}/all"]
    """
    entry = make_entry(file)
    for name in ("one", "two"):
        ours = replace(entry, name=name, mirror="shared")
        stored = ensure_file(ours, "toy", tmp_path, network=network)
        assert stored.path == tmp_path / "raw" / "shared" / "all"
    assert server.paths() == ["/all"]


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
