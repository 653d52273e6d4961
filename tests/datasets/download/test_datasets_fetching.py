"""Sources of a file besides its host, accepted forms, and folders that cannot be written."""

import pytest
from datasets_support import CONTENT, ROWS, left_in, libsvm_text, make_entry, put, sha, toy_file, zipped
from msgspec.structs import replace
from support import unprivileged
from svmrepro.datasets.download import _verification as verification
from svmrepro.datasets.download import http
from svmrepro.datasets.download.raw_files import ensure_file, fetch_entry, mirror_has_more


def test_a_mirror_comes_before_the_host_and_may_be_a_folder_or_a_prefix(site, monkeypatch):
    stored = site.fetch(mirror=site.mirror(CONTENT))
    assert (stored.path.read_bytes(), stored.origin) == (CONTENT, "mirror")
    site.serve(CONTENT, "/copies/toy/toy")
    site.serve(CONTENT)
    assert site.fetch("a", mirror=f"{site.server.url}/copies/").origin == "mirror"
    monkeypatch.setenv("SVMREPRO_MIRROR", f"{site.server.url}/copies")
    assert site.fetch("b").origin == "mirror"
    assert site.server.paths() == ["/copies/toy/toy"] * 2
    assert site.fetch("c", mirror="").origin == f"{site.server.url}/toy"


def test_a_mirror_at_an_address_is_asked_for_what_is_missing(site, monkeypatch):
    monkeypatch.setattr(http, "shared_network", lambda: site.network)
    mirror = f"{site.server.url}/copies/"
    assert not mirror_has_more(site.entry, site.folder, mirror)
    for answer in (CONTENT, lambda handler: handler.reply(403), lambda handler: handler.reply(503)):
        site.serve(answer, "/copies/toy/toy")
        assert mirror_has_more(site.entry, site.folder, mirror)
    assert not mirror_has_more(site.entry, site.folder, "http://127.0.0.1:9")
    put(site.folder / "raw" / "toy" / "toy", CONTENT)
    assert not mirror_has_more(site.entry, site.folder, mirror)


def test_checksums_hold_for_a_mirror(site):
    mirror = site.mirror(CONTENT.replace(b"+1", b"-1", 1))
    message = site.refusal(mirror=mirror)
    assert f"mirror {mirror}/toy/toy: wrong checksum" in message
    assert f"{site.server.url}/toy: HTTP 404" in message
    for nothing, said in (("ftp://example.org/data", "ftp scheme"), ("/nowhere", "No such file")):
        assert said in site.refusal(mirror=nothing)
    site.serve(CONTENT)
    assert site.fetch(mirror=mirror).origin.endswith("/toy")


def test_sets_that_share_a_folder_share_its_files(site):
    site.serve(CONTENT)
    for name in ("one", "two"):
        entry = replace(site.entry, name=name, mirror="shared")
        stored = ensure_file(entry, "toy", site.folder, network=site.network)
        assert stored.path == site.folder / "raw" / "shared" / "toy"
    assert site.server.paths() == ["/toy"]


def test_a_file_put_there_by_hand_is_accepted(site):
    put(site.folder / "data" / "raw" / "toy" / "toy", CONTENT)
    assert site.fetch(download=False).sha256 == sha(CONTENT)
    assert site.server.seen == []
    # A wrong one is named and kept.
    path = put(site.folder / "data" / "raw" / "toy" / "toy", "mine\n")
    assert f"{path}: 5 bytes where {len(CONTENT)} were expected" in site.refusal()
    assert path.read_bytes() == b"mine\n"


def test_a_corrupted_file_is_replaced(site):
    site.serve(CONTENT)
    site.fetch().path.write_bytes(CONTENT[::-1])
    assert site.fetch().path.read_bytes() == CONTENT
    assert len(site.server.seen) == 2


def test_without_download_no_source_is_asked(site):
    site.serve(CONTENT)
    assert "it has not been fetched" in site.refusal(download=False, mirror=f"{site.server.url}/copies")
    assert site.server.seen == []
    assert not (site.folder / "data").exists()


def test_the_same_rows_in_another_spelling(site):
    rows = verification.canonical_sha256(put(site.folder / "given", CONTENT))
    site.offer(CONTENT, sha256=sha(b"another spelling"), rows_sha256=rows)
    site.serve(CONTENT.replace(b"+1", b"1").replace(b"\n", b" \n"))
    assert site.fetch("a").sha256 != sha(CONTENT)
    site.serve(CONTENT.replace(b"13:1", b"12:1", 1))
    assert "wrong checksum" in site.refusal("b")


LINES = CONTENT.splitlines(keepends=True)
MIDDLE = LINES[::2][:-1] + LINES[-1:]


def neighbours(site):
    """Return a set of three nested files, the middle one without a checksum."""
    parts = {"small": b"".join(LINES[::4]), "large": CONTENT}
    for name, content in parts.items():
        site.serve(content, f"/{name}")
    url = site.server.url
    middle = f"{{rows: {ROWS // 2}, max_bytes: 5000, between: [small, large], sources: ['{url}/middle']}}"
    others = [toy_file(content, f"{url}/{name}", name=name) for name, content in parts.items()]
    return make_entry("\n".join([f"middle: {middle}", *others]), subsets="[small, middle, large]")


def test_a_file_without_checksum_is_judged_by_its_place(site):
    site.serve(b"".join(MIDDLE), "/middle")
    fetched = fetch_entry(neighbours(site), site.folder, network=site.network)
    assert list(fetched.files) == ["small", "large", "middle"]
    assert fetched.missing == {}


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (MIDDLE[1:], f"{ROWS // 2 - 1} rows where {ROWS // 2} were expected"),
        ([b"-1 14:1\n", *MIDDLE[1:]], "middle:1: index 14 is out of range 1 to 13"),
        ([b"-1 3:1\n", *MIDDLE[1:]], "the rows of small are not among its own"),
        ([MIDDLE[0], b"+1 13:1\n", *MIDDLE[2:]], "its rows are not among those of large"),
        (MIDDLE[::-1], "in the same order"),
    ],
)
def test_a_file_without_checksum_is_refused(site, lines, what):
    site.serve(b"".join(lines), "/middle")
    fetched = fetch_entry(neighbours(site), site.folder, network=site.network)
    assert list(fetched.files) == ["small", "large"], "the others go on"
    assert what in " ".join(fetched.missing["middle"])


def test_a_file_is_compared_with_neighbours_that_come_later(site):
    site.serve(b"".join([MIDDLE[0], b"+1 13:1\n", *MIDDLE[2:]]), "/middle")
    entry = neighbours(site)
    ensure_file(entry, "middle", site.folder, network=site.network)
    fetched = fetch_entry(entry, site.folder, network=site.network)
    assert "its rows are not among those of large" in " ".join(fetched.missing["middle"])


def said_by(child):
    """Wait for a fetch; return the last line of its error, or its output."""
    out, err = child.communicate(timeout=60)
    assert bool(err) == bool(child.returncode)
    return (err or out).splitlines()[-1].removeprefix("svmrepro.datasets.errors.")


def test_an_unwritable_folder(site):
    site.serve(CONTENT)
    closed = site.folder / "closed"
    closed.mkdir(mode=0o555)
    said = said_by(site.start_fetch(*unprivileged(), into="closed"))
    assert said == f"StorageError: {closed}/raw/toy: cannot be written: Permission denied"
    assert list(closed.iterdir()) == []
    assert site.server.seen == []

    # Existing files can be used from a folder that cannot be written.
    closed.chmod(0o755)
    stored = site.fetch("closed")
    (closed / "raw" / "toy" / ".verified.json").unlink()
    for folder in (closed, closed / "raw", closed / "raw" / "toy"):
        folder.chmod(0o555)
    assert said_by(site.start_fetch(*unprivileged(), into="closed")) == str(stored.path)
    assert len(site.server.seen) == 1


@pytest.mark.parametrize("source", ["host", "mirror", "archive"])
def test_a_full_disk(site, source):
    big = libsvm_text(20_000)
    site.serve(big)
    site.serve(zipped({"toy": big}), "/all.zip")
    mirror = site.mirror(big) if source == "mirror" else ""
    zip_file = {"url": f"{site.server.url}/all.zip", "member": "toy"}
    site.files = toy_file(big, zip_file if source == "archive" else f"{site.server.url}/toy")
    small = ("sh", "-c", 'ulimit -f 200; exec "$@"', "sh")
    said = said_by(site.start_fetch(*small, mirror=mirror))
    assert said.startswith(f"StorageError: {site.folder}/data/raw/toy/"), said
    assert said.endswith("cannot be written: File too large")
    assert left_in(site.folder / "data") == []
