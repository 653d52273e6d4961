"""Other combinations do change the summation order, and their failures are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
import sums
from sums import Combination, Result

HERE = sums.lacking(Combination("x", {"OPENBLAS_CORETYPE": "Nehalem"})) == ""


def by_name(name: str) -> Combination:
    return next(one for one in sums.combinations() if one.name == name)


@pytest.mark.skipif(not HERE, reason="no x86-64 processor")
def test_openblas_and_numba_follow_their_variables() -> None:
    both = {**by_name("openblas-nehalem").environment, **by_name("numba-generic").environment}
    assert sums.chosen(Combination("both", both)) == "Nehalem; generic without AVX-512"


@pytest.mark.skipif(not HERE, reason="no x86-64 processor")
def test_the_cheapest_compiles_nothing_and_is_another_one() -> None:
    cheapest = sums.cheapest()
    assert not cheapest.compiles and "NUMBA_CACHE_DIR" not in cheapest.environment
    assert sums.chosen(cheapest) != sums.chosen(Combination("as-it-is", {}))


def test_code_for_another_processor_has_a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    folders = {sums.environment(one).get("NUMBA_CACHE_DIR") for one in sums.combinations() if one.compiles}
    assert len(folders) == 4 and None not in folders
    assert all(
        "NUMBA_CACHE_DIR" not in sums.environment(one) for one in sums.combinations() if not one.compiles
    )


def test_what_a_processor_lacks_is_skipped() -> None:
    result = sums.run(Combination("tomorrow", {"X": "1"}, frozenset({"avx4096"})), ["tests/none"])
    assert result.skipped and "| tomorrow | - | - | - | skipped: " in sums.table([result])


def test_failures_are_counted_and_named(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.a" name="one"/>'
        '<testcase classname="tests.a" name="two"><failure>no</failure></testcase>'
        '<testcase classname="tests.a" name="three"><skipped/></testcase></testsuite></testsuites>'
    )
    assert sums.counts(report) == (1, ["tests/a.py::two"])
    text = sums.table([Result("x", 1, ("tests/a.py::two",), 2.0, "Zen; generic")])
    assert "| x | 1 | 1 | 2 | Zen; generic |" in text and "x: tests/a.py::two" in text
