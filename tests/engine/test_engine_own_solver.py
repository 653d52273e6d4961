"""A package of a user's own, written here, competes with this project's solvers in a whole run."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from engine_support import EXPERIMENT, command, environment, journal_lines, tiny
from svmrepro.workflow import fingerprints
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.measurement.contender_run import _as_solution

PACKAGE = {
    "__init__.py": '"""A solver of mine."""\n',
    "rule.py": """
import numpy as np


def pair(gradient, up, down):
    return np.argmax(np.where(up, gradient, -np.inf)), np.argmin(np.where(down, gradient, np.inf))
""",
    "train.py": '''
from types import SimpleNamespace

import numpy as np

from mysvm.rule import pair


def dual(problem, eps, time_limit, early=1.0):
    """Take the pair that violates most; ``early`` stops at a multiple of eps."""
    X, y, C = problem.X, problem.y, problem.C
    K = np.asarray((X @ X.T).todense() if hasattr(X, "todense") else X @ X.T)
    low, high, b, g = np.minimum(0, y * C), np.maximum(0, y * C), 0 * y, y.copy()
    for step in range(10_000):
        i, j = pair(g, b < high, b > low)
        if g[i] - g[j] <= early * eps:
            break
        mu = min((g[i] - g[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12), high[i] - b[i], b[j] - low[j])
        b[i] = high[i] if mu == high[i] - b[i] else b[i] + mu
        b[j] = low[j] if mu == b[j] - low[j] else b[j] - mu
        g -= mu * (K[i] - K[j])
    return SimpleNamespace(alpha=np.abs(b), bias=(g[i] + g[j]) / 2, iterations=step)


def broken(problem, eps, time_limit):
    return {}["no such key"]
''',
}
BROKEN_AT = 1 + PACKAGE["train.py"].splitlines().index('    return {}["no such key"]')
BROKEN = f"KeyError: 'no such key' (train.py:{BROKEN_AT})"
TABLE = f"results/default/platt1998/timing-{EXPERIMENT}"
MEASURED = f"results/default/platt1998/{EXPERIMENT}/measurements.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package, which is not on the path otherwise."""
    made = tmp_path_factory.mktemp("own")
    (made / "mysvm").mkdir()
    for name, text in PACKAGE.items():
        (made / "mysvm" / name).write_text(text)
    return made


def settings() -> dict[str, Any]:
    own = {
        "smo2": {"solver": "smo2"},
        "mine": {"solver": "mysvm.train:dual"},
        "early": {"solver": "mysvm.train:dual", "options": {"early": 100}},
        "broken": {"solver": "mysvm.train:broken"},
    }
    return tiny(own, sizes=(20, 40))


def run(folder: Path) -> str:
    """Run the experiment's measurements and its table; return what was said."""
    # In a folder of its own, with the package beside the results, as ./run has it beside the Snakefile.
    ended = subprocess.run(
        command(folder, settings(), MEASURED, f"{TABLE}.md"),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def lines(folder: Path, contender: str) -> list[dict[str, Any]]:
    return [line for line in journal_lines(folder) if line["contender"] == contender]


def test_it_competes(folder: Path) -> None:
    said = run(folder)
    assert Counter((line["contender"], line["status"]) for line in journal_lines(folder)) == {
        ("smo2", "optimal"): 4,
        ("mine", "optimal"): 4,
        ("early", "uncertified"): 2,
        ("broken", "error"): 2,
    }
    for mine, theirs in zip(lines(folder, "mine"), lines(folder, "smo2"), strict=True):
        assert mine["row"] == theirs["row"] and mine["run_id"] == theirs["run_id"]
        assert mine["certificate"]["passed"]
        assert mine["certificate"]["dual"] == pytest.approx(theirs["certificate"]["dual"], rel=1e-3)
        assert mine["cpu_seconds"] > 0 and mine["iterations"] > 0
    assert {line["reason"] for line in lines(folder, "broken")} == {BROKEN}
    assert BROKEN in said and "Traceback" not in said
    with (folder / MEASURED).open() as stream:
        assert {row["contender"] for row in csv.DictReader(stream)} == {"smo2", "mine", "early", "broken"}


def test_what_is_wrong_is_no_timing(folder: Path) -> None:
    with (folder / f"{TABLE}.csv").open() as stream:
        rows = {int(row["n"]): row for row in csv.DictReader(stream)}
    for n in (20, 40):
        assert float(rows[n]["mine_seconds"]) > 0 and float(rows[n]["smo2_seconds"]) > 0
        assert rows[n]["early_seconds"] == rows[n]["broken_seconds"] == ""
        assert rows[n]["early_seconds_reason"] == "no timing: certificate failed"
        assert rows[n]["broken_seconds_reason"] == f"failed: {BROKEN}"
    page = (folder / f"{TABLE}.md").read_text()
    for shown in ("Mine: measured", "Mine / SMO2", "no timing: certificate failed", BROKEN):
        assert shown in page
    assert "Early / Smo2" not in page


@pytest.mark.parametrize("count", [-1, float("nan"), 10**30, "many", None])
def test_a_count_that_is_none_is_told(count: Any) -> None:
    """It would stand in the journal, and no table could be made of it."""
    with pytest.raises(StepError, match=r"^solver 'a:b' returned iterations: [^\n]+$"):
        _as_solution("a:b", SimpleNamespace(alpha=[0.0], bias=0.0, iterations=count))
    assert _as_solution("a:b", SimpleNamespace(alpha=[0.0], bias=0.0, iterations=np.int64(7))).iterations == 7


def test_a_changed_module_of_the_package_measures_again(folder: Path) -> None:
    before = len(journal_lines(folder))
    (folder / "mysvm" / "rule.py").touch()
    assert "Nothing to be done" in run(folder)
    assert len(journal_lines(folder)) == before
    old = {line["fingerprint"] for line in lines(folder, "mine")}
    with (folder / "mysvm" / "rule.py").open("a") as stream:
        stream.write("\nSECOND_EDITION = True\n")
    run(folder)
    assert len(journal_lines(folder)) == 2 * before
    new = {line["fingerprint"] for line in lines(folder, "mine")}
    assert old < new and len(new) == 2
    assert len({line["fingerprint"] for line in lines(folder, "smo2")}) == 1
    with (folder / MEASURED).open() as stream:
        assert {
            row["fingerprint"] for row in csv.DictReader(stream) if row["contender"] == "mine"
        } == new - old


def test_a_package_that_is_installed_editable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        """What an editable installation adds: it knows the folder that no path names."""

        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            places = [str(folder / "mysvm")]
            if name != "elsewhere":
                return None
            return spec_from_file_location(
                name, f"{places[0]}/__init__.py", submodule_search_locations=places
            )

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    first = fingerprints.solver_fingerprint("elsewhere.train:dual")
    with (folder / "mysvm" / "train.py").open("a") as stream:
        stream.write("\n")
    fingerprints.solver_fingerprint.cache_clear()
    assert fingerprints.solver_fingerprint("elsewhere.train:dual") != first
    monkeypatch.setitem(sys.modules, "made", ModuleType("made"))
    for name in ("nowhere.train:dual", "made:dual"):
        with pytest.raises(StepError, match="there is no module"):
            fingerprints.solver_fingerprint(name)


def test_a_package_that_is_not_there_is_told_at_once(folder: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        command(tmp_path, settings(), MEASURED),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode != 0
    assert "there is no module 'mysvm' on the Python path" in ended.stderr
    assert "Traceback" not in ended.stderr
