"""How a step ends, waits and reports its progress."""

import csv
import io
import os
import threading
from pathlib import Path

import pytest
from engine_support import Terminal, measure, prepare, solver
from svmrepro.workflow.errors import StepError, reading_table, run_safely
from svmrepro.workflow.locks import any_lock
from svmrepro.workflow.measurement import job_progress


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (StepError("a claim\n  is wrong"), 1, "error: a claim is wrong\n"),
        (OSError(28, "No space left on device", "a.csv"), 1, "error: a.csv: no space left on device\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_a_step_that_fails_says_why_in_one_line(raised, code, said, capsys):
    def fail():
        raise raised

    assert (run_safely(fail), capsys.readouterr().err) == (code, said)


def test_a_fault_of_ours_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run_safely(lambda: 1 // 0)


def test_a_file_that_is_no_table_is_named(tmp_path):
    path = tmp_path / "fits.csv"
    with pytest.raises(StepError, match=r"fits\.csv: No such file"), reading_table(path):
        path.read_text()
    path.write_bytes(b"a,b\n\xff,1\n")
    with pytest.raises(StepError, match=r"fits\.csv: is not a table"), reading_table(path):
        path.read_text(encoding="utf-8")
    with pytest.raises(StepError, match=r"fits\.csv: is not a table"), reading_table(path):
        list(csv.reader(["x" * (csv.field_size_limit() + 1)]))


@pytest.mark.parametrize(("slots", "others"), [(1, 1), (1, 2), (2, 1)])
def test_who_finds_no_slot_free_says_whom_it_waits_for(slots, others, tmp_path):
    waited = []
    taken = []
    told = threading.Event()

    def waiting(owner):
        waited.append(owner)
        told.set()

    def second():
        with any_lock(tmp_path, others, waiting) as slot:
            taken.append(slot)

    with any_lock(tmp_path, slots) as slot:
        assert slot == 0
        other = threading.Thread(target=second)
        other.start()
        assert told.wait(60)
        assert not taken
    other.join(60)
    assert [str(owner).split()[1] for owner in waited] == [str(os.getpid())] and taken == [0]


def test_as_many_as_there_are_slots_run_side_by_side(tmp_path):
    with any_lock(tmp_path, 2) as first, any_lock(tmp_path, 2) as second:
        assert {first, second} == {0, 1}


def test_slots_that_cannot_be_made_are_named(tmp_path):
    (tmp_path / "slots").write_text("a file")
    with pytest.raises(StepError, match=r"cannot write .*slots"), any_lock(tmp_path / "slots", 2):
        raise AssertionError("the lock is held")


@pytest.fixture
def config():
    return prepare({"one": solver("quick", options={"pause": 0.2})}, sizes=[20], repeats=1)


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_long_run_is_seen_to_be_alive(config, stream, monkeypatch):
    monkeypatch.setattr(job_progress, "TICK_TERMINAL", 0.02)
    monkeypatch.setattr(job_progress, "TICK_PLAIN", 0.02)
    measure(config, stream=stream)
    text = stream.getvalue()
    assert " of about " in text and "1 run left" in text
    # Overwritten on a terminal and nowhere else; in neither case part of the log.
    assert ("\r\x1b[K" in text) == ("measuring, about" in text) == stream.isatty()
    assert " of about " not in Path("log.txt").read_text()


def test_a_log_that_cannot_be_written_is_named(config):
    Path("logs").write_text("a file")
    with pytest.raises(StepError, match=r"cannot write logs/log\.txt"):
        measure(config, log="logs/log.txt")
