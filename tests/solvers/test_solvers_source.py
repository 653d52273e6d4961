"""Fingerprints, and compiled code that stands alone."""

from __future__ import annotations

import ast
import json
import math
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from svmrepro import solvers
from svmrepro.solvers import SOLVERS, fingerprint, fingerprint_all
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.source_code import SourceCode
from svmrepro.solvers.vector_code.vector_loops import exponentials

PACKAGE = Path(solvers.__file__).parent


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, with its parsed sources."""
    shutil.copytree(PACKAGE, tmp_path / "solvers")
    return tmp_path / "solvers"


def look(package: Path) -> dict[str, str]:
    """The fingerprints of a copy, computed afresh."""
    copy = SourceCode(package.parent)
    prints = {name: copy.fingerprint_of_solver(name) for name in SOLVERS}
    return {**prints, "all": copy.fingerprint_of_package("solvers")}


def test_what_a_solver_reaches_counts(copied: Path) -> None:
    first = look(copied)
    assert first["all"] == fingerprint_all()
    assert [
        name for name, spec in SOLVERS.items() if not spec.package and first[name] != fingerprint(name)
    ] == []

    def changed(module: str, line: str) -> set[str]:
        path = copied / f"{module}.py"
        text = path.read_text()
        path.write_text(f"{text}\n{line}\n")
        after = look(copied)
        path.write_text(text)
        return {name for name in first if after[name] != first[name]}

    runs = "str()"  # on import, so for all that reach the module
    assert changed("storage/row_products", runs) >= {"smo", "smo-fixed-threshold", "chunking", "all"}
    assert changed("driver", runs) == set(first)
    assert changed("quadratic_programs/projected_cg", runs) == {"chunking", "all"}
    chosen = changed("quadratic_programs/chunk_qp", runs)
    assert chosen == {"chunking", "smo", "smo-fixed-threshold", "all"}
    assert changed("platt/fixed_threshold", runs) == {"smo-fixed-threshold", "all"}
    assert changed("registry", runs) == {"all"}
    assert changed("storage/row_products", "_ADDED = 1") == {"all"}
    assert changed("storage/row_products", "# a comment") == set()
    (copied / "storage" / "row_products.py").touch()
    assert look(copied) == first
    (copied / "another.py").write_text("x = 1\n")
    after = look(copied)
    assert after.pop("all") != first.pop("all")
    assert after == first


def defined(text: str) -> str:
    """Return the names that a module's source defines, as an import lists them."""
    pairs = re.findall(r"^(?:def|class) (\w+)|^(\w+)(?:: .*)? = ", text, re.M)
    return ", ".join(sorted({name for pair in pairs for name in pair if name}))


def test_code_may_move(copied: Path) -> None:
    """Moving a definition: to another name or folder, through a re-export, and into another module."""
    first = look(copied)
    compiled = {first.pop("all")}

    def unchanged() -> bool:
        """Return whether no measurement is invalid; compiled code has another folder after each move."""
        now = look(copied)
        compiled.add(now.pop("all"))
        return now == first

    def rewrite(change: Callable[[str], str]) -> None:
        for path in copied.rglob("*.py"):
            path.write_text(change(path.read_text()))

    (copied / "rooms").mkdir()
    products = (copied / "storage" / "row_products.py").rename(copied / "rooms" / "products.py")
    rewrite(
        lambda text: text.replace(
            "from svmrepro.solvers.storage.row_products import", "from svmrepro.solvers.rooms import"
        )
    )
    exported = defined(products.read_text())
    (copied / "rooms" / "__init__.py").write_text(f"from .products import {exported}\n")
    assert unchanged()

    (copied / "caches" / "lru.py").rename(copied / "caches" / "recently_used.py")
    rewrite(lambda text: re.sub(r"(\W)lru\b", r"\1recently_used", text))
    assert unchanged()

    # A module split in two; the second half imports the first.
    whole = copied / "storage" / "row_sums.py"
    text = whole.read_text()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    middle = functions[len(functions) // 2]
    lines = text.splitlines(keepends=True)
    at = middle.lineno - 1 - len(middle.decorator_list)
    (copied / "first_half.py").write_text("".join(lines[:at]))
    moved = defined("".join(lines[:at]))
    imports = re.findall(r"^(?:from|import) .*\n(?:    .*\n|\)\n)*", text, re.M)
    whole.write_text(
        f"{''.join(imports)}from svmrepro.solvers.first_half import {moved}\n{''.join(lines[at:])}"
    )
    assert unchanged()
    assert len(compiled) == 4


def test_another_definition_of_the_same_name_counts(copied: Path) -> None:
    (copied / "first.py").write_text("def step(x):\n    return x\n")
    (copied / "second.py").write_text("def step(x):\n    return -x\n")
    smo = copied / "platt" / "smo.py"
    both = (
        "from svmrepro.solvers import first, second\n"
        "from svmrepro.solvers.{} import step\n"
        "print(step, first.step, second.step)\n"
    )
    text = smo.read_text()
    seen = set()
    for chosen in ("first", "second"):
        smo.write_text(text + both.format(chosen))
        seen.add(look(copied)["smo"])
    assert len(seen) == 2


def test_what_was_kept_is_taken_by_its_content_alone(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    first = look(copied)
    (kept,) = (copied / "platt" / "__pycache__").glob("source.*.json")
    content = json.loads(kept.read_text())
    # The stored record is used for the present source and ignored for any other.
    told = {**content, "smo.py": {**content["smo.py"], "statements": [["0" * 16, [], [], False]]}}
    kept.write_text(json.dumps(told))
    assert look(copied)["smo"] != first["smo"]
    told["smo.py"]["source"] = "0" * 64
    kept.write_text(json.dumps(told))
    assert look(copied) == first
    for spoiled in ("[]", '{"rows.py": {"source": 1}}'):
        kept.write_text(spoiled)
        assert look(copied) == first


def test_an_import_that_cannot_be_followed_is_refused(copied: Path) -> None:
    (copied / "platt" / "smo.py").write_text("import svmrepro.solvers.storage.row_products\n")
    with pytest.raises(
        ValueError, match=r"line 1: import svmrepro\.solvers\.storage\.row_products as a name"
    ):
        look(copied)


@compiled()
def apply(values):
    exponentials(values, values.size)


def test_exponential_to_two_ulp() -> None:
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
    out = x.copy()
    apply(out)
    exact = np.array([math.exp(v) for v in x])
    assert (np.abs(out - exact) / np.spacing(exact)).max() <= 2.0
    far = np.array([-709.0, -800.0, -1e300, -np.inf])
    apply(far)
    assert far == pytest.approx(np.exp(-708.0), rel=1e-12)
