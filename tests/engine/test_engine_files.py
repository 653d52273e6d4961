"""Atomic files, the journal, and locks: full disks, kills, several writers."""

import json
import math
import multiprocessing
import os
import platform
import re
import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from engine_support import on_full_disk
from support import measurement, ran, unprivileged
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.files import atomic_path, atomic_write
from svmrepro.workflow.journal.journal_file import Journal
from svmrepro.workflow.journal.journal_line import Measurement, decode, encode, read_lines
from svmrepro.workflow.locks import lock


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_file_appears_whole_and_replaces(tmp_path):
    path = tmp_path / "deep" / "table.csv"
    atomic_write(path, "one\n")
    atomic_write(path, b"two\n")
    assert path.read_text() == "two\n"
    assert names(path.parent) == {"table.csv"}
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_failed_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "figure.svg"
    atomic_write(path, "old")
    with pytest.raises(ZeroDivisionError), atomic_path(path) as temporary:
        assert temporary.suffix == ".svg"
        temporary.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert names(tmp_path) == {"figure.svg"}


def test_an_error_about_another_file_is_not_that_of_the_target(tmp_path):
    path = tmp_path / "copy.csv"
    with pytest.raises(FileNotFoundError, match=r"gone\.csv"), atomic_path(path) as temporary:
        shutil.copyfile(tmp_path / "gone.csv", temporary)
    for named in (True, False):
        with pytest.raises(StepError, match=f"^cannot write {path}: full$"), atomic_path(path) as temporary:
            raise OSError(28, "Full", str(temporary) if named else None)
    assert names(tmp_path) == set()


def test_killed_writers_litter_is_swept_and_a_living_ones_kept(tmp_path):
    with atomic_path(tmp_path / "table.csv") as temporary:
        mine = str(os.getpid())
        dead, alive = (temporary.name.replace(mine, other) for other in ("999999999", str(os.getppid())))
        elsewhere = dead.replace(platform.node(), "another")
        for name in (dead, alive, elsewhere):
            (tmp_path / name).write_text("half")
    atomic_write(tmp_path / "table.csv", "whole")
    assert names(tmp_path) == {"table.csv", alive, elsewhere}


WRITE_TABLE = """
import os, sys
from svmrepro.workflow.errors import run_safely
from svmrepro.workflow.files import atomic_write
def main():
    atomic_write("table.csv", "old\\n")
    atomic_write("table.csv", "x" * 1_000_000)
    return 0
try:
    sys.exit(run_safely(main))
finally:
    print(sorted(os.listdir(".")), open("table.csv").read())
"""


def test_full_disk_while_writing_a_table(tmp_path):
    ended = on_full_disk(WRITE_TABLE, tmp_path)
    assert ended.returncode == 1
    assert ended.stderr == "error: cannot write table.csv: no space left on device\n"
    assert ended.stdout == "['table.csv'] old\n\n"


FILL_JOURNAL = """
import json, os
from pathlib import Path
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.journal.journal_file import Journal
line = json.loads(os.environ["LINE"])
journal = Journal(Path("journal.jsonl"))
made = 0
try:
    while True:
        journal.append({**line, "repeat": made})
        made += 1
except StepError as error:
    print(error)
content = Path("journal.jsonl").read_bytes()
assert content.endswith(b"\\n"), content[-99:]
assert [entry["repeat"] for entry in journal.valid_lines()] == list(range(made))
print(made > 100)
"""


def test_full_disk_while_journalling_loses_and_breaks_no_line(tmp_path, monkeypatch):
    monkeypatch.setenv("LINE", json.dumps(measurement()))
    ended = on_full_disk(FILL_JOURNAL, tmp_path)
    assert ended.stdout == "cannot write journal.jsonl: no space left on device\nTrue\n", ended.stderr


def test_unwritable_folder_is_named(tmp_path):
    results = tmp_path / "results"
    results.mkdir(mode=0o555)
    script = "from svmrepro.workflow.files import atomic_write\natomic_write('results/a/t.csv', 'x')"
    ended = ran(*unprivileged([sys.executable, "-c", script]), cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.endswith("StepError: cannot write results/a/t.csv: permission denied\n")
    assert names(results) == set()


ADDED = {
    **{"encoding": None, "axis": None, "point": None, "performance": {}, "package": None},
    **{"noise": {}, "protocol": "1"},
}


def test_every_field_is_checked():
    good = measurement()
    assert decode(encode(good)) == good
    for name in Measurement.__struct_fields__:
        if name not in ADDED:
            with pytest.raises(ValueError, match=f"key '{name}' is missing"):
                encode({key: value for key, value in good.items() if key != name})
        with pytest.raises(ValueError, match=f"^{name}: must be "):
            encode({**good, name: {1}})
    for wrong in ({"status": "fine"}, {"more": 1}, {"repeat": True}, {"schema": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            encode({**good, **wrong})
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(measurement(C=float("nan")))


def test_lines_from_before_a_field_was_added_still_count(tmp_path):
    old = {key: value for key, value in measurement().items() if key not in ADDED}
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps(old) + "\n")
    assert read_lines(path) == Journal(path).valid_lines() == [{**old, **ADDED}]
    # Whatever can be read can be written: a job's own file is complete.
    assert json.loads(encode(read_lines(path)[0])) == {**old, **ADDED}


def test_certificates_may_say_more_and_have_numbers_that_do_not_apply(tmp_path):
    sampled = {"rows": 3, "error": math.inf}
    more = {"dual": np.float64(1.5), "pair_gap": math.nan, "sampled": sampled, "who": "x"}
    plain = {"dual": 1.5, "pair_gap": None, "sampled": {"rows": 3, "error": None}, "who": "x"}
    path = tmp_path / "lines.jsonl"
    path.write_bytes(encode(measurement(certificate=more)))
    assert [line["certificate"] for line in read_lines(path)] == [plain]
    assert Journal(path).valid_lines() == read_lines(path)


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        (b"{half\n", "is not a measurement"),
        (b"[]\n", "Expected `object`"),
        (b"[" * 200_000 + b"\n", "is not a measurement"),
        (encode(measurement(C=0.5)).replace(b"0.5", b"NaN"), "is not a measurement"),
        (encode(measurement(C=0.5)).replace(b"0.5", b"1e999"), "is not a measurement"),
    ],
)
def test_read_lines_names_file_and_line(tmp_path, spoilt, words):
    path = tmp_path / "lines.jsonl"
    with pytest.raises(StepError, match="no such file"):
        read_lines(path)
    path.write_bytes(encode(measurement()) + spoilt)
    with pytest.raises(StepError, match=rf"lines\.jsonl:2: .*{words}"):
        read_lines(path)
    assert len(Journal(path).valid_lines()) == 1


@pytest.mark.parametrize("cut", [1, 7, 400])
def test_beginning_of_a_line_is_taken_away(tmp_path, cut):
    journal = Journal(tmp_path / "deep" / "journal.jsonl")
    assert journal.valid_lines() == []
    journal.append(measurement(repeat=0))
    journal.append(measurement(repeat=1))
    content = journal.path.read_bytes()
    journal.path.write_bytes(content[:-cut])
    assert [line["repeat"] for line in journal.valid_lines()] == [0]
    journal.append(measurement(repeat=2))
    assert [line["repeat"] for line in journal.valid_lines()] == [0, 2]
    assert all(json.loads(line) for line in journal.path.read_text().splitlines())


def test_long_half_line_without_any_whole_one(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x" * 10_000)
    Journal(path).append(measurement())
    assert path.read_bytes() == encode(measurement())


def test_lines_of_another_schema_are_history(tmp_path):
    path = tmp_path / "journal.jsonl"
    old = json.dumps(measurement(schema=0)).encode() + b"\n"
    path.write_bytes(old)
    journal = Journal(path)
    journal.append(measurement())
    assert len(journal.valid_lines()) == 1
    assert path.read_bytes().startswith(old)
    journal.append(kept := measurement(row="other"))
    journal.forget({measurement()["row"]})
    assert path.read_bytes() == old + encode(kept)


def _append(path, writer):
    for repeat in range(50):
        Journal(Path(path)).append(measurement(contender=f"w{writer}", repeat=repeat))


def test_writers_at_the_same_time_mix_no_lines(tmp_path):
    path = tmp_path / "journal.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append, args=(str(path), number)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    lines = Journal(path).valid_lines()
    assert len(path.read_text().splitlines()) == len(lines) == 150
    assert len({(line["contender"], line["repeat"]) for line in lines}) == 150


def _hold(path, seconds, held):
    with lock(Path(path)):
        held.set()
        time.sleep(seconds)


def test_lock_waits_says_for_whom_and_ends_with_its_process(tmp_path):
    path = tmp_path / "locks" / "job.lock"
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    holder = context.Process(target=_hold, args=(str(path), 60, held))
    holder.start()
    assert held.wait(30)
    told = []

    def waiting(owner):
        told.append(str(owner))
        holder.kill()

    with lock(path, waiting):
        (owner,) = told
        since = re.fullmatch(rf"process {holder.pid} on [\w.-]+ \(since (.*)\)", owner)
        assert 0 <= (datetime.now(UTC) - datetime.fromisoformat(since[1])).total_seconds() < 120
    holder.join(10)
