"""Files that come compressed, in archives, or in a folder that several sets share."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from datasets_support import ROWS, Server, compress_lzw, left_in, libsvm_text, make_entry, reason, sha, zipped
from msgspec.structs import replace
from svmrepro.datasets.download.http import Network
from svmrepro.datasets.download.search import ensure_file
from svmrepro.datasets.registry.model import DownloadedEntry

CONTENT = libsvm_text()


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
