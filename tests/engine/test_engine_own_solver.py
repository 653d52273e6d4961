"""User-defined solvers: their results and where their package is found; test_engine_workflow runs one."""

import sys
from importlib.util import spec_from_file_location
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from svmrepro.workflow import fingerprints
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.measurement.contender_run import _as_solution


@pytest.mark.parametrize("count", [-1, float("nan"), 10**30, "many", None])
def test_a_count_that_is_none_is_told(count):
    """It would be in the journal, but no table could be made of it."""
    with pytest.raises(StepError, match=r"^solver 'a:b' returned iterations: [^\n]+$"):
        _as_solution("a:b", SimpleNamespace(alpha=[0.0], bias=0.0, iterations=count))
    assert _as_solution("a:b", SimpleNamespace(alpha=[0.0], bias=0.0, iterations=np.int64(7))).iterations == 7


def test_a_package_that_is_installed_editable(tmp_path, monkeypatch):
    class Finder:
        """Added by an editable installation: it knows a folder that is not on the path."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            start = tmp_path / "__init__.py"
            places = [str(tmp_path)]
            if name != "elsewhere":
                return None
            return spec_from_file_location(name, start, submodule_search_locations=places)

    for name in ("__init__.py", "train.py"):
        (tmp_path / name).write_text("def dual(problem, eps, time_limit): ...\n")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    first = fingerprints.solver_fingerprint("elsewhere.train:dual")
    (tmp_path / "train.py").write_text("def dual(problem, eps, time_limit): return None\n")
    fingerprints.solver_fingerprint.cache_clear()
    assert fingerprints.solver_fingerprint("elsewhere.train:dual") != first
    monkeypatch.setitem(sys.modules, "made", ModuleType("made"))
    for name in ("nowhere.train:dual", "made:dual"):
        with pytest.raises(StepError, match="there is no module"):
            fingerprints.solver_fingerprint(name)
