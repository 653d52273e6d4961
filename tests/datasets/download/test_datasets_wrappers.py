"""Compressed files and archives: malicious ones are refused, and no other file is written."""

import bz2
import gzip
import lzma
import sys
import zipfile
import zlib

import pytest
from datasets_support import CONTENT, ROWS, compress_lzw, left_in, make_entry, put, sha, toy_file, zipped
from support import ran
from svmrepro.datasets.download.unpacking import extract_member
from svmrepro.datasets.errors import SourceError
from svmrepro.datasets.registry import RegistryError

BOMB = 10 * 2**30
_BLOCK = bytes(10 * 2**20)


@pytest.fixture(autouse=True)
def nothing_beside(tmp_path):
    """Fail if a test leaves anything outside the folders below ``data``."""
    yield
    assert {path.name for path in tmp_path.iterdir()} <= {"data", "mirror", "bomb"}
    assert not list(tmp_path.rglob("*evil*"))


@pytest.fixture
def archive(site):
    """The set is a member of an archive."""
    site.files = toy_file(CONTENT, {"url": f"{site.server.url}/all.zip", "member": "set/toy"})
    return site


def test_a_member_of_an_archive(archive):
    archive.serve(zipped({"set/readme": b"hello", "set/toy": CONTENT}), "/all.zip")
    assert archive.fetch().path.read_bytes() == CONTENT
    assert left_in(archive.folder) == ["toy"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (zipped({"/etc/evil": b"", "set/toy": CONTENT}), "unsafe name"),
        (zipped({"../../evil": b"", "set/toy": CONTENT}), "unsafe name"),
        (zipped({"C:/evil": b"", "set/toy": CONTENT}), "unsafe name"),
        (zipped({"other": CONTENT}), "no member set/toy"),
        (zipped({"set/toy": bytes(10_000_000)}), f"longer than the {len(CONTENT)} bytes expected"),
        (zipped({"set/toy": CONTENT})[:200], "not a zip archive"),
        (zipped({"set/toy": CONTENT}).replace(b"set/toy", b"set/t\xfdy", 1), "damaged"),
    ],
)
def test_archives_that_are_refused(archive, content, what):
    archive.serve(content, "/all.zip")
    assert what in archive.refusal()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_zipfile_unpacks_at_once_are_refused(tmp_path, method):
    # A megabyte of bzip2 expands to gigabytes, and zipfile would decompress all of it at once.
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("set/toy", _BLOCK)
    with pytest.raises(SourceError, match=rf"set/toy of all\.zip is compressed by method {method}"):
        extract_member(path, "set/toy", tmp_path / "data", 1000, "all.zip")
    assert not (tmp_path / "data").exists()


WRAP = {
    "gzip": (".gz", lambda content: gzip.compress(content, 1, mtime=1)),
    "bzip2": (".bz2", bz2.compress),
    "xz": (".xz", lzma.compress),
    "compress": (".Z", compress_lzw),
}


@pytest.mark.parametrize("compression", WRAP)
def test_compressed_files_are_judged_by_their_content(site, compression):
    suffix, wrap = WRAP[compression]
    name = f"toy{suffix}"
    form = {"file": name, "compression": compression, "bytes": len(CONTENT), "sha256": sha(CONTENT)}
    site.files = f"toy: {{rows: {ROWS}, forms: [{form}], sources: ['{site.server.url}/{name}']}}"
    site.serve(wrap(CONTENT), f"/{name}")
    assert site.fetch("data/a").path.read_bytes() == CONTENT
    assert left_in(site.folder) == ["toy"]

    site.serve(CONTENT, f"/{name}")  # a server that unpacks what it sends
    assert site.fetch("data/b").path.read_bytes() == CONTENT

    put(site.folder / "data" / "c" / "raw" / "toy" / name, wrap(CONTENT))
    assert site.fetch("data/c", download=False).origin == "put there by hand"

    # The format of compress has neither length nor checksum: a truncated file gives a shorter result.
    cut = f"bytes where {len(CONTENT)} were expected" if compression == "compress" else "damaged"
    for content, what in (
        (wrap(CONTENT)[:-15], cut),
        (wrap(CONTENT[::-1]), "wrong checksum"),
        (wrap(bytes(1_000_000)), f"longer than the {len(CONTENT)} bytes"),
    ):
        site.serve(content, f"/{name}")
        assert what in site.refusal("data/d")


@pytest.mark.parametrize("name", ["toy.gz", "toys.zip"])
def test_a_wrapper_whose_checksum_is_known_vouches_for_its_content(site, name):
    wrapped = gzip.compress(CONTENT, mtime=3)
    member = {} if name == "toy.gz" else {"member": "toy.gz"}
    # One row more than expected: a vouched file is not read, any other is.
    form = {"file": "toy.gz", "compression": "gzip", "max_bytes": 9999, "wrapper_sha256": sha(wrapped)}
    source = {"url": f"{site.server.url}/{name}", "form": "toy.gz", **member}
    site.files = f"toy: {{rows: {ROWS + 1}, forms: [{form}], sources: [{source}]}}"

    def serve(content):
        site.serve(zipped({"toy.gz": content}) if member else content, f"/{name}")

    serve(wrapped)
    assert site.fetch("data/a").path.read_bytes() == CONTENT
    serve(gzip.compress(CONTENT, mtime=4))
    assert f"{ROWS} rows where {ROWS + 1} were expected" in site.refusal("data/b")


def repeated(compress):
    """Return ten gigabytes of zeros as a file of concatenated streams."""
    return compress(_BLOCK) * (BOMB // len(_BLOCK))


def zip_bomb(says):
    """Return an archive with one member of ten gigabytes that declares another size."""
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


BOMBS = {
    "gzip": lambda: repeated(gzip.compress),
    "bzip2": lambda: repeated(bz2.compress),
    "xz": lambda: repeated(lzma.compress),
    "zip": lambda: zip_bomb(4 * 10**9),
    "zip that lies": lambda: zip_bomb(100),
}

UNPACK = """
import resource, sys
from pathlib import Path
from svmrepro.datasets.download.unpacking import decompress, extract_member
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
def test_ten_gigabytes_are_not_unpacked(tmp_path, kind):
    path = tmp_path / "bomb"
    path.write_bytes(BOMBS[kind]())
    assert path.stat().st_size < BOMB / 500
    ended = ran(sys.executable, "-c", UNPACK, kind, path, tmp_path / "data", check=True)
    said, megabytes = ended.stdout.splitlines()
    assert ("Bad CRC-32" if kind == "zip that lies" else "is longer than the 1000000 bytes expected") in said
    assert int(megabytes) < 100
    assert (tmp_path / "data").stat().st_size <= 1_000_000


def test_a_file_of_ten_gigabytes_in_a_mirror_is_left_there(site):
    mirror = site.mirror(b"")
    with (mirror / "toy" / "toy").open("wb") as stream:
        stream.truncate(BOMB)
    assert f"toy is longer than the {len(CONTENT)} bytes expected" in site.refusal(mirror=mirror)


WITHIN_A_GIGABYTE = """
import resource, sys
from pathlib import Path
from svmrepro.datasets.download.unpacking import decompress
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
decompress(Path(sys.argv[1]), "xz", Path(sys.argv[2]), 1000, "toy.xz")
"""


def test_a_header_that_asks_for_too_much_memory(tmp_path):
    # The size of the dictionary is in the header only: 37 means 1.5 GiB.
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**20, "mode": lzma.MODE_FAST, "nice_len": 4}]
    small = bytearray(lzma.compress(CONTENT, filters=filters))
    end = 12 + (small[12] + 1) * 4
    assert small[16] == 16
    small[16] = 37
    small[end - 4 : end] = zlib.crc32(bytes(small[12 : end - 4])).to_bytes(4, "little")
    (tmp_path / "mirror").write_bytes(bytes(small))
    words = [sys.executable, "-c", WITHIN_A_GIGABYTE, tmp_path / "mirror", tmp_path / "data"]
    ended = ran(*words, env={"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"})
    assert ended.stderr.splitlines()[-1].startswith("svmrepro.datasets.errors.SourceError: toy.xz is damaged")


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "evil\n", "", ".."])
def test_a_name_in_the_registry_cannot_lead_out_of_the_folder(name):
    with pytest.raises(RegistryError, match="toy"):
        make_entry(f"toy: {{rows: 2, forms: [{{file: {name!r}, bytes: 1, sha256: {sha(b'')}}}]}}")
