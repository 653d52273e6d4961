"""Fingerprints, what an import loads, and the compiled pieces that stand alone."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from svmrepro import solvers
from svmrepro.solvers import SOLVERS, fingerprint, fingerprint_all

SOURCE = Path(solvers.__file__).parent


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[], dict[str, str]]:
    """A copy of the package; the function returns its fingerprints, from a process of its own."""
    shutil.copytree(SOURCE, tmp_path / "svmrepro" / "solvers", ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from svmrepro.solvers import SOLVERS, fingerprint, fingerprint_all, source\n"
        "assert source.__file__.startswith(sys.argv[1]), source.__file__\n"
        "print(json.dumps({**{name: fingerprint(name) for name in SOLVERS}, 'all': fingerprint_all()}))\n"
    )

    def look() -> dict[str, str]:
        command = [sys.executable, "-c", program, str(tmp_path)]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return dict(json.loads(done.stdout))

    return look


def test_fingerprint_follows_imports(copied: Callable[[], dict[str, str]], tmp_path: Path) -> None:
    package = tmp_path / "svmrepro" / "solvers"
    first = copied()
    assert first == {**{name: fingerprint(name) for name in SOLVERS}, "all": fingerprint_all()}

    def changed(module: str, line: str = "_ADDED = 1") -> set[str]:
        path = package / f"{module}.py"
        text = path.read_text()
        path.write_text(f"{text}\n{line}\n")
        after = copied()
        path.write_text(text)
        return {name for name in first if after[name] != first[name]}

    assert changed("rows") >= {"smo", "smo-fixed-threshold", "chunking", "all"}
    assert changed("driver") >= {"smo", "smo-fixed-threshold", "chunking", "all"}
    assert changed("projected_cg") == {"chunking", "smo", "smo-fixed-threshold", "all"}
    assert changed("fixed_threshold") == {"smo-fixed-threshold", "all"}
    assert changed("registry") == {"all"}
    assert changed("rows", "# a comment") <= {"all"}
    assert copied() == first


def test_a_touched_file_and_an_unreached_module_change_nothing(
    copied: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    first = copied()
    (tmp_path / "svmrepro" / "solvers" / "rows.py").touch()
    (tmp_path / "svmrepro" / "solvers" / "another.py").write_text("x = 1\n")
    after = copied()
    assert after.pop("all") != first.pop("all")
    assert after == first


def test_what_was_kept_is_taken_by_its_content_alone(
    copied: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    first = copied()
    (kept,) = (tmp_path / "svmrepro" / "solvers" / "__pycache__").glob("source.*.json")
    content = json.loads(kept.read_text())
    # It is read: code that is said to be of the present source is believed, that of another source is not.
    told = {**content, "rows": {**content["rows"], "code": "another = 1"}}
    kept.write_text(json.dumps(told))
    assert copied()["smo"] != first["smo"]
    told["rows"]["source"] = "0" * 64
    kept.write_text(json.dumps(told))
    assert copied() == first
    for spoiled in ("", "[]", '{"rows": 1}', '{"rows": {"source": 1}}'):
        kept.write_text(spoiled)
        assert copied() == first


def test_fingerprint_of_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="solver 'simplex' unknown"):
        fingerprint("simplex")


def test_import_is_light() -> None:
    program = (
        "import sys, svmrepro.solvers as s\n"
        "s.Problem([[0.0], [1.0]], [1, -1]).prepare(); s.fingerprint('smo')\n"
        "print([m for m in ('numba', 'llvmlite', 'pandas', 'sklearn', 'matplotlib') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_exponential_to_two_ulp() -> None:
    from numba import njit
    from svmrepro.solvers.transforms import exp_of_negative

    @njit
    def apply(x, out):  # type: ignore[no-untyped-def]
        for k in range(x.size):
            out[k] = exp_of_negative(x[k])

    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            np.linspace(-708.0, 0.0, 200_001),
            -rng.random(100_000),
            -(10.0 ** rng.uniform(-300, 0, 10_000)),
            -math.log(2) * (np.arange(1000) + 0.5),  # where the reduction changes its integer
            [0.0, -0.0, -708.0],
        ]
    )
    out = np.empty_like(x)
    apply(x, out)
    exact = np.array([math.exp(v) for v in x])
    assert (np.abs(out - exact) / np.spacing(exact)).max() <= 2.0
    far = np.array([-709.0, -800.0, -1e300, -np.inf])
    held = np.empty(4)
    apply(far, held)
    assert held == pytest.approx(np.exp(-708.0), rel=1e-12)


@pytest.mark.parametrize("storage", ["dense", "csr", "index", "bits"])
def test_row_functions(storage: str) -> None:
    from svmrepro.solvers import Kernel
    from svmrepro.solvers.rows import ROWS
    from svmrepro.solvers.storage import build_store

    rng = np.random.default_rng(1)
    for d in (1, 64, 65, 128, 300, 321):
        X = (rng.random((20, d)) < 0.3).astype(float)
        X[4] = 0.0
        store = build_store(X, storage, Kernel.linear())
        dots, products, update = ROWS[storage]
        members = rng.permutation(20)[:11].astype(np.uint32)
        out = np.full(13, np.nan)
        dots(store, 7, members, 11, out)
        assert out[:11] == pytest.approx(X[members] @ X[7])
        w = np.zeros(store.scratch.size)
        w[:d] = rng.normal(size=d)
        products(store, w, members, 11, out)
        assert out[:11] == pytest.approx(X[members] @ w[:d])
        assert np.isnan(out[11:]).all()
        expected = w[:d] + 0.5 * X[7]
        update(store, 7, 0.5, w)
        assert w[:d] == pytest.approx(expected)
        assert not store.scratch.any()
