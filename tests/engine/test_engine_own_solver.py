"""User-defined solvers: their results and where their package is found; test_engine_workflow runs one."""

import sys
from importlib.util import spec_from_file_location
from types import ModuleType

import pytest
from svmrepro.workflow import fingerprints
from svmrepro.workflow.errors import StepError


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
