"""Other combinations do change the summation order."""

from __future__ import annotations

import pytest
import sums
from sums import Combination
from svmrepro.workflow.errors import StepError

HERE = sums.lacking(Combination("x", {"OPENBLAS_CORETYPE": "Nehalem"})) == ""


def by_name(name: str) -> Combination:
    return next(one for one in sums.combinations() if one.name == name)


@pytest.mark.skipif(not HERE, reason="no x86-64 processor")
def test_openblas_and_numba_follow_their_variables() -> None:
    both = {**by_name("openblas-nehalem").environment, **by_name("numba-generic").environment}
    assert sums.chosen(Combination("both", both)) == "Nehalem; generic without AVX-512"


def test_tests_are_looked_for_before_any_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*words: str) -> None:
        raise StepError(f"no {words}")

    monkeypatch.setattr(sums.checkout, "require_tests", refuse)
    with pytest.raises(StepError, match=r"^no \('no-such-word',\)$"):
        sums.main(["no-such-word"])
