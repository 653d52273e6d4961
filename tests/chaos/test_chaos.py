"""The chaos test: its judge notices faults, and, on demand, a few runs.

`SVMREPRO_CHAOS_FOLDER` names a folder whose journal they resume; ``chaos.py`` makes more runs.
"""

import os
import sys
from pathlib import Path

import pytest
from chaos import KINDS, summary
from outcome import broken_lines, differences, litter, read_journal, tables
from support import measurement, ran
from svmrepro.workflow.journal.journal_line import encode

HERE = Path(__file__).resolve().parent


@pytest.fixture
def results(tmp_path):
    lines = b"".join(encode(measurement(repeat=repeat)) for repeat in range(3))
    for name in ("journal/paper/x.jsonl", "paper/x/runs/all.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(lines)
    rows = {
        "paper/x/measurements.csv": ["n,iterations,cpu_seconds,run_id,certificate.dual", "50,7,0.5,a,1.25"],
        "paper/ratios.csv": ["n,quantity,ratio", "50,work,2.0", "50,cpu_seconds,3.0"],
        "paper/support-vectors.csv": ["n,nonbound,seconds_low", "50,12,0.5"],
        "paper/sparse-x.csv": ["n,smo_dense,smo_dense_reason", "50,0.5,"],
    }
    for name, text in rows.items():
        (tmp_path / name).write_text("\n".join(text) + "\n")
    assert not broken_lines(tmp_path) and not litter(tmp_path)
    return tmp_path


@pytest.mark.parametrize("file", ["journal/paper/x.jsonl", "paper/x/runs/all.jsonl"])
@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (encode(measurement(repeat=2)), "measured 2 times"),
        (b'{"schema": 1}\n', "missing required field"),
        (b'{"sch\n', "is not a measurement"),
        (encode(measurement(repeat=7))[:-20], "the last line has no end"),
    ],
)
def test_lines_that_are_broken_or_there_twice_are_seen(results, file, spoilt, said):
    with (results / file).open("ab") as stream:
        stream.write(spoilt)
    assert [problem for problem in broken_lines(results) if said in problem]


@pytest.mark.parametrize(
    ("file", "old", "new", "seen"),
    [
        ("paper/x/measurements.csv", "50,7", "50,8", True),
        ("paper/x/measurements.csv", "1.25", "1.2500001", True),
        ("paper/x/measurements.csv", "0.5,a", "0.7,b", False),
        ("paper/ratios.csv", "work,2.0", "work,2.1", True),
        ("paper/ratios.csv", "cpu_seconds,3.0", "cpu_seconds,3.5", False),
        ("paper/ratios.csv", "50,work,2.0\n", "", True),
        ("paper/support-vectors.csv", "12", "13", True),
        ("paper/support-vectors.csv", ",0.5", ",0.6", False),
        ("paper/sparse-x.csv", "0.5,", ",not run", True),
        ("paper/sparse-x.csv", "0.5,", "0.6,", False),
    ],
)
def test_what_differs_is_seen_and_seconds_may(results, file, old, new, seen):
    before = tables(results)
    text = (results / file).read_text()
    assert old in text
    (results / file).write_text(text.replace(old, new))
    assert bool(differences(before, tables(results))) is seen


def test_missing_tables_and_litter_are_seen(results):
    before = tables(results)
    (results / "paper" / "ratios.csv").unlink()
    (results / "paper" / ".ratios.123-abc.csv").write_text("half")
    assert "paper/ratios.csv: is missing" in differences(before, tables(results))
    assert len(litter(results)) == 1


@pytest.mark.slow
def test_runs_that_are_harmed_end_as_one_in_peace(tmp_path):
    folder = Path(os.environ.get("SVMREPRO_CHAOS_FOLDER") or tmp_path / "chaos")
    command = [sys.executable, HERE / "chaos.py", "--runs", len(KINDS), "--folder", folder]
    ended = ran(*command, timeout=24 * 3600)
    figures = summary(folder)
    print(figures)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert figures["runs"] >= len(KINDS) and figures["runs with problems"] == []
    done = {kill["kind"] for run in read_journal(folder / "runs.jsonl") for kill in run["kills"]}
    assert done >= set(KINDS) - {"disk-full"}
