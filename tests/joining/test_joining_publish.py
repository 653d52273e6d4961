"""Published runs: packed, found again by compare, and read with care."""

import functools
import http.server
import io
import json
import os
import resource
import shutil
import signal
import stat
import threading
import zipfile
from dataclasses import replace

import analysis_support as synthetic
import pytest
from support import rows_of
from svmrepro.workflow import archives
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.analysis.runs import Runs
from svmrepro.workflow.commands import main
from svmrepro.workflow.comparison.compared_run import read_run
from svmrepro.workflow.configuration import dump_config, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.joining import publishing
from svmrepro.workflow.judgement.reference_check import about, is_read
from svmrepro.workflow.locks import lock
from svmrepro.workflow.steps import analyse, collect, crate, tabulate

GOOD = {"platt1998/measurements.csv": b"a,b\n1,2\n", "check.json": b"{}\n"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return synthetic.analyse(synthetic.make_config(tmp_path_factory.mktemp("run"), ["adult-linear"]))


def test_a_published_run_is_the_same_run_to_compare_with(run, tmp_path):
    files = publishing.files_of(run)
    archives.pack(files, tmp_path / "one.zip")
    archives.pack(files, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    folder = archives.run_folder(str(tmp_path / "one.zip"), tmp_path / "others")
    assert archives.run_folder(str(tmp_path / "two.zip"), tmp_path / "others").name[-12:] == folder.name[-12:]
    there, here = read_run(folder, run.papers), read_run(run.results_dir / run.scale, run.papers)
    assert there.rows and there.rows == here.rows and there.ratios == here.ratios
    assert there.claims == here.claims and there.described == here.described


def test_the_crate_lists_every_file_with_its_checksum(run):
    files = publishing.files_of(run)
    graph = json.loads(files[crate.METADATA])["@graph"]
    listed = {part["@id"]: part for part in graph if part["@type"] == "File"}
    assert set(listed) == set(files) - {crate.METADATA}
    assert {"@id": "platt1998/measurements.csv"} in graph[0]["hasPart"]
    name = "platt1998/measurements.csv"
    assert listed[name]["encodingFormat"] == "text/csv"
    assert listed[name]["contentSize"] == str(len(files[name]))
    assert "identity" in json.loads(files[publishing.MACHINE])


def test_tables_of_other_measurements_are_not_packed(tmp_path):
    run = synthetic.analyse(synthetic.make_config(tmp_path / "before", ["adult-linear"]))
    whole = publishing.files_of(run)
    # Times change in a copy.
    copy = replace(run, results_dir=tmp_path / "after" / "results")
    shutil.copytree(run.results_dir, copy.results_dir, copy_function=shutil.copyfile)
    assert publishing.files_of(copy) == whole
    lines = synthetic.records(run, "adult-linear")
    lines[0]["cpu_seconds"] *= 2
    synthetic.write_records(copy, {"adult-linear": lines})
    paper = run.papers[synthetic.PAPER]
    tables = [each.name for each in paper.artefacts.values() if each.form == "table"]
    analyse.run(copy, paper.name, "adult-linear")
    assert_old(copy, "measurements")
    collect.run(copy, paper.name)
    assert_old(copy, tables[0])
    tabulate.run(copy, paper.name, tables)
    assert publishing.files_of(copy).keys() == whole.keys()
    made = paths.table(copy, paper.name, tables[0])["csv"].parent / ".made" / f"{tables[0]}.json"
    for damaged in ("[]", "{", '{"adult-linear": 7}'):
        made.write_text(damaged)
        assert_old(copy, tables[0])


def assert_old(config, name):
    said = rf"/{name}\.csv is of other measurements .*; the command that made the run completes it"
    with pytest.raises(StepError, match=said):
        publishing.files_of(config)


def test_a_run_in_progress_is_not_packed(run):
    with lock(paths.run_lock_file(run)), pytest.raises(StepError, match=r"/paper is in use by the run of "):
        publishing.files_of(run)


def test_figures_are_those_of_the_run(run, tmp_path):
    folder = shutil.copytree(run.results_dir, tmp_path / "results-5") / "paper"
    own = replace(run, figures_dir=tmp_path / "figures-5")
    atomic_write(folder / ".config" / "mine.json", dump_config(own))
    name = next(each.name for each in run.papers[synthetic.PAPER].artefacts.values() if each.form == "figure")
    for place, said in (("figures-5", b"mine"), ("others", b"other")):
        atomic_write(tmp_path / place / "paper" / synthetic.PAPER / f"{name}.svg", said)
    archive = tmp_path / "mine.zip"
    where = ["--scale", "paper", "--results", str(folder.parent), "-o", str(archive)]
    for figures, said in (([], b"mine"), (["--figures", str(tmp_path / "others")], b"other")):
        assert main.main(["publish", *where, *figures]) == 0
        assert zipfile.ZipFile(archive).read(f"{synthetic.PAPER}/{name}.svg") == said


@pytest.mark.parametrize(
    ("papers", "name", "kept", "changed", "packed"),
    [
        ([synthetic.PAPER], "check.json", None, {}, True),
        ([synthetic.PAPER], f"check-{synthetic.PAPER}.json", None, {}, True),
        ([synthetic.PAPER], "check.json", 1, {}, False),
        ([synthetic.PAPER], "check.json", None, {"adult-linear-one-order": "not decided"}, False),
        ([synthetic.PAPER, "another"], "check.json", None, {}, False),
    ],
)
def test_a_check_of_other_measurements_is_not_packed(run, papers, name, kept, changed, packed):
    measured = read_runs([paths.measurements(run, synthetic.PAPER)], is_read)
    described = about(Runs(measured.runs[:kept]))
    check = paths.results(run) / name
    rows = rows_of(paths.table(run, synthetic.PAPER, "claims")["csv"])
    verdicts = {row["id"]: row["verdict"] for row in rows}
    assert verdicts.keys() >= changed.keys() and verdicts.items().isdisjoint(changed.items())
    claims = dict.fromkeys(papers, verdicts | changed)
    check.write_text(json.dumps({"papers": dict.fromkeys(papers, described), "claims": claims}))
    os.utime(check, (1e9, 1e9))  # as in a copy
    found = publishing.files_of(run)
    check.unlink()
    assert ("check.json" in found) is packed


def test_a_damaged_check_is_not_packed(run):
    check = paths.results(run) / "check.json"
    for content in ("[]", "{", '{"papers": [], "claims": {}}', '{"papers": {"x": ' + "[" * 100_000):
        check.write_text(content)
        found = publishing.files_of(run)
        check.unlink()
        assert "check.json" not in found


def test_only_an_archive_of_a_run_is_overwritten(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(publishing, "files_of", lambda config: {"check.json": b"{}"})
    target = tmp_path / "mine.zip"
    publish = ["publish", "--scale", "paper", "--results", str(run.results_dir), "-o"]
    for content in (b"my thesis", b"", zipped({"a.txt": b"mine"})):
        target.write_bytes(content)
        assert main.main([*publish, str(target)]) == 1
        said = f"error: --output: {target} exists and is not an archive of a run; name another file\n"
        assert capsys.readouterr().err == said and target.read_bytes() == content
    assert main.main([*publish, str(tmp_path)]) == 1
    archives.pack({"check.json": b"[]"}, target)
    assert main.main([*publish, str(target)]) == 0
    assert zipfile.ZipFile(target).read("check.json") == b"{}"


def test_a_run_on_own_data_is_published_by_the_configuration_that_it_left(run, tmp_path, capsys):
    # The project knows neither the paper nor the data set.
    folder = tmp_path / "results" / "paper"
    shutil.copytree(run.results_dir / "paper", folder)
    (folder / synthetic.PAPER).rename(folder / "mine")
    mine = replace(run.papers[synthetic.PAPER], name="mine")
    atomic_write(folder / ".config" / "mine.json", dump_config(replace(run, papers={"mine": mine})))
    where = ["--scale", "paper", "--results", str(tmp_path / "results"), "-o", str(tmp_path / "mine.zip")]
    for papers in (["mine"], []):
        assert main.main(["publish", *papers, *where]) == 0
        assert f"`./run compare mine --scale paper {tmp_path / 'mine.zip'}`" in capsys.readouterr().out
    assert "mine/measurements.csv" in zipfile.ZipFile(tmp_path / "mine.zip").namelist()
    (folder / "mine" / "measurements.csv").unlink()
    assert main.main(["publish", *where]) == 1
    said = f"nothing to publish: mine is not complete in {folder}; `./run mine --scale paper` completes it"
    assert said in capsys.readouterr().err
    assert main.main(["publish", "yours", *where]) == 1
    assert "unknown paper 'yours'" in capsys.readouterr().err
    shutil.rmtree(folder)
    assert main.main(["publish", *where]) == 1
    assert f"nothing to publish: {folder} has no measurements" in capsys.readouterr().err


def zipped(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def packed(path, files=GOOD, more=()):
    """Pack an archive and add members to it, each a name or a ZipInfo with its content."""
    archives.pack(files, path)
    with zipfile.ZipFile(path, "a") as archive:
        for member, content in more:
            archive.writestr(member, content)
    return path


def special(name, mode=stat.S_IFREG | 0o644, method=zipfile.ZIP_DEFLATED):
    member = zipfile.ZipInfo(name)
    member.external_attr, member.compress_type = mode << 16, method
    return member


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("../evil.csv", "which is not a valid path in a run"),
        ("a/../../evil.csv", "which is not a valid path in a run"),
        (".bashrc.csv", "which is not a valid path in a run"),
        ("a/b/c/d.csv", "which is not a valid path in a run"),
        ("evil.py", "a kind of file that no run has"),
        ("Check.JSON.json", "does not match SHA256SUMS"),
        ("CHECK.json", "twice"),
        (special("link.csv", stat.S_IFLNK | 0o777), "which is not a regular file"),
        (special("bomb.csv", method=zipfile.ZIP_BZIP2), "compressed by another method than deflate"),
    ],
)
def test_members_that_do_not_belong_are_refused(member, said, tmp_path):
    path = packed(tmp_path / "in" / "run.zip", more=[(member, b"../../outside")])
    below = tmp_path / "below"
    with pytest.raises(StepError, match=said) as caught:
        archives.unpack(path, below)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(str(tmp_path))
    assert [*below.iterdir()] == [] and {each.name for each in tmp_path.iterdir()} == {"in", "below"}


def test_changed_missing_and_unlisted_files_are_refused(tmp_path):
    archives.pack(GOOD, tmp_path / "good.zip")
    with zipfile.ZipFile(tmp_path / "good.zip") as good:
        whole = {name: good.read(name) for name in good.namelist()}
    changed = {**whole, "check.json": b"{ }\n"}
    missing = {name: content for name, content in whole.items() if name != "check.json"}
    bare = {name: content for name, content in whole.items() if name != archives.SUMS}
    odd = {**whole, archives.SUMS: b"not a sum\n"}
    for files, said in (
        (changed, r"check\.json does not match SHA256SUMS"),
        (missing, r"check\.json is missing"),
        (bare, "has no SHA256SUMS: it is not a published run"),
        (odd, "SHA256SUMS:1: is not a checksum with a file name"),
        ({**whole, archives.SUMS: b"\n" * 3_000_001}, "SHA256SUMS is too long"),
    ):
        path = tmp_path / "bad.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        with pytest.raises(StepError, match=said):
            archives.unpack(path, tmp_path / "below")


def test_what_a_killed_process_left_is_deleted(tmp_path):
    left, present = (tmp_path / "below" / f".unpacking-{name}" / "run" for name in ("left", "present"))
    for folder in (left, present):
        folder.mkdir(parents=True)
    os.utime(left.parent, (1e9, 1e9))
    archives.unpack(packed(tmp_path / "run.zip"), tmp_path / "below")
    assert not left.parent.exists() and present.exists()


def test_sizes_are_limited_by_what_is_unpacked(tmp_path, monkeypatch):
    path = packed(tmp_path / "run.zip", {"bomb.csv": b"0" * 3_000_000})
    monkeypatch.setattr(archives, "MOST_BYTES", 2_000_000)
    assert path.stat().st_size < 10_000
    with pytest.raises(StepError, match="holds more than"):
        archives.unpack(path, tmp_path / "below")
    monkeypatch.setattr(archives, "MOST_MEMBERS", 1)
    with pytest.raises(StepError, match="holds 2 files, more than 1"):
        archives.unpack(path, tmp_path / "below")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all"])
def test_what_is_no_archive_is_refused(content, tmp_path):
    (tmp_path / "run.zip").write_bytes(content)
    with pytest.raises(StepError, match=r"against: .*run\.zip: is not a zip archive"):
        archives.run_folder(str(tmp_path / "run.zip"), tmp_path / "below")
    with pytest.raises(StepError, match=r"gone\.zip: no such file"):
        archives.run_folder(str(tmp_path / "gone.zip"), tmp_path / "below")


@pytest.mark.parametrize("cut", range(20, 400, 37))
def test_a_damaged_archive_is_refused_in_one_line(cut, tmp_path):
    archives.pack(GOOD, tmp_path / "run.zip")
    content = bytearray((tmp_path / "run.zip").read_bytes())
    content[cut % len(content)] ^= 0xFF
    (tmp_path / "run.zip").write_bytes(bytes(content))
    try:
        folder = archives.unpack(tmp_path / "run.zip", tmp_path / "below")
    except StepError as error:
        assert "\n" not in str(error)
    else:  # a change that does not matter, such as a date
        assert (folder / "check.json").read_bytes() == GOOD["check.json"]


def test_an_archive_is_had_from_a_url_once(tmp_path):
    (tmp_path / "www").mkdir()
    archives.pack(GOOD, tmp_path / "www" / "run.zip")
    (tmp_path / "www" / "large.zip").write_bytes(bytes(2**22))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "www"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/run.zip"
        folder = archives.run_folder(url, tmp_path / "below")
        (copy,) = (tmp_path / "below" / "downloads").iterdir()
        copy.write_bytes(b"")
        os.utime(copy, (4e9, 4e9))  # the clock was set back
        assert archives.run_folder(url, tmp_path / "below") == folder
        before, on_limit = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2**21, before[1]))
            with pytest.raises(StepError, match=r"^against: http://\S+/large\.zip: .* cannot be written: "):
                archives.run_folder(url.replace("run.zip", "large.zip"), tmp_path / "below")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, on_limit)
        server.shutdown()
    assert (folder / "check.json").read_bytes() == GOOD["check.json"]
    assert archives.run_folder(url, tmp_path / "below") == folder, "the copy is used"
    with pytest.raises(StepError, match=r"against: http://127\.0\.0\.1:1/gone\.zip: "):
        archives.run_folder("http://127.0.0.1:1/gone.zip", tmp_path / "below")
