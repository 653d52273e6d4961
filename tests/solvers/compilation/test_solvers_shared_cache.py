"""Several processes that compile into one cache at once."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from numba import config
from numba.core.caching import IndexDataCacheFile
from numba.core.targetconfig import TargetConfig
from support import ran, unprivileged
from svmrepro.solvers.compilation import compiled as decorator
from svmrepro.solvers.compilation import shared_cache

pytestmark = pytest.mark.skipif(
    config.DISABLE_JIT or shared_cache.fcntl is None, reason="nothing is compiled, or there are no locks"
)

SCRIPT = """
import sys, time
import numpy as np
from numba.core.caching import IndexDataCacheFile
from svmrepro.solvers.compilation.compiled import compiled

load = IndexDataCacheFile._load_index

def slowly(file):
    found = load(file)
    time.sleep(0.2)  # as on a busy disk; the other processes read it, too
    return found

IndexDataCacheFile._load_index = slowly

@compiled()
def twice(x):
    return x + x

print(flush=True)
sys.stdin.read()
for name in sys.argv[1:]:
    print(twice(np.dtype(name).type(1.5)))
print(sum(twice.stats.cache_misses.values()), "numba.cpython.setobj" in sys.modules)
"""
TWICE = {"float64": "3.0", "complex128": "(3+0j)", "int64": "2"}


def processes(folder: Path, *types: list[str]) -> list[list[str]]:
    """Return what processes print that start at once.

    That is twice 1.5 by type, how often each compiled, and whether it loaded what compiling needs.
    """
    script = folder / "twice.py"
    script.write_text(SCRIPT)
    own = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    waiting, start = os.pipe()
    pipes = {"stdin": waiting, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([sys.executable, script, *each], env=own, **pipes) for each in types]
    for each in running:
        each.stdout.readline()  # it has imported what it needs
    os.close(start)
    os.close(waiting)
    said = [each.communicate()[0].split() for each in running]
    assert not any(each.returncode for each in running)
    return said


def test_each_type_is_compiled_by_one_and_loaded_without_what_compiling_needs(tmp_path: Path) -> None:
    types = ["float64", *TWICE]
    said = processes(tmp_path, *([each] for each in types))
    assert [result for result, *_ in said] == [TWICE[each] for each in types]
    waited, *compiled = sorted(said[:2]) + said[2:]
    assert waited[1] == "0" and [each[1:] for each in compiled] == [["1", "True"]] * 3
    (later,) = processes(tmp_path, list(TWICE))
    assert later == [*TWICE.values(), "0", "False"]


LATER = """
import sys
import numpy as np
from svmrepro.solvers.compilation.compiled import compiled

@compiled()
def twice(x):
    return x + x

for name in sys.argv[1:]:
    print(twice(np.dtype(name).type(3.5)))
"""


def test_an_index_without_its_file_finds_no_code_of_other_types(tmp_path: Path, monkeypatch) -> None:
    def twice(x: float) -> float:
        return runpy.run_path(str(script))["twice"](x)

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", ["later.py"])
    script = tmp_path / "later.py"
    script.write_text(LATER)
    assert twice(3) == 6
    script.write_text(f"{LATER}# a comment: numba begins a new index\n")
    with monkeypatch.context() as disk, pytest.raises(OSError, match="no space left"):
        disk.setattr(IndexDataCacheFile, "_save_data", full)
        twice(3.5)
    assert twice(3.5) == 7.0


def test_each_state_of_the_source_has_a_folder_of_its_own(tmp_path: Path, monkeypatch) -> None:
    """numba does not notice a change of a function in another module."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    folders = []
    for state in "ab":
        monkeypatch.setattr(decorator, "fingerprint_all", lambda state=state: state)
        with decorator._cache_folder() as folder:
            folders.append(folder)
    assert folders == [str(tmp_path / "compiled-a"), str(tmp_path / "compiled-b")]
    assert str(tmp_path) == config.CACHE_DIR


def test_one_thread_at_a_time_changes_what_numba_does() -> None:
    before = config.CACHE_DIR, TargetConfig.__eq__
    begun, outside = threading.Event(), threading.Event()

    def other() -> None:
        begun.set()
        with decorator._cache_folder(), decorator._compiling():
            outside.wait(30)

    thread = threading.Thread(target=other)
    with decorator._cache_folder(), decorator._compiling():
        thread.start()
        assert begun.wait(30)
        thread.join(0.2)
    outside.set()
    thread.join()
    assert (config.CACHE_DIR, TargetConfig.__eq__) == before


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_file_is_replaced(kind: str, tmp_path: Path, monkeypatch) -> None:
    def misses() -> int:
        twice = decorator.compiled()(lambda x: x + x)
        assert twice(1.5) == 3.0
        return sum(twice.stats.cache_misses.values())

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert misses() == 1
    (file,) = tmp_path.rglob(f"*.{kind}")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert [misses(), misses()] == [1, 0]


@pytest.mark.parametrize("mode", [0o755, 0o555], ids=["own", "read-only"])
def test_where_no_cache_can_be_written_there_is_none(mode: int, tmp_path: Path) -> None:
    """Neither in a folder of the user, nor in that of the source, whether that can be written or not."""
    (tmp_path / "later.py").write_text(LATER)
    (tmp_path / "file").touch()
    tmp_path.chmod(mode)
    own = {**os.environ, "NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path / "file")}
    ended = ran(*unprivileged([sys.executable, str(tmp_path / "later.py"), "float64"]), env=own)
    tmp_path.chmod(0o755)
    assert ended.stdout.strip() == "7.0", ended.stderr
    assert not list(tmp_path.rglob("*.nb[ic]")) and not list(tmp_path.rglob("*.lock"))


def test_a_user_without_a_home_has_no_cache(monkeypatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(os, "getuid", lambda: 54321)  # nobody has this number
    assert decorator.compiled()(lambda x: x + x)(3.5) == 7.0


def test_of_a_cache_that_can_only_be_read_the_code_is_used(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    processes(tmp_path, ["float64"])
    for path in [*(tmp_path / "cache").rglob("*"), tmp_path / "cache"]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    words = unprivileged([sys.executable, str(script), "float64", "int64"])
    own = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = ran(*words, env=own, stdin=subprocess.DEVNULL).stdout.split()
    assert said == ["3.0", "2", "1", "True"]


@pytest.mark.parametrize("lacking", ["locks", "a folder"])
def test_without_locks_each_compiles_for_itself(lacking: str, tmp_path: Path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(shared_cache, "_lock" if lacking == "locks" else "_lock_file", refuse)
    with shared_cache._alone(str(tmp_path), "function"):
        pass
    assert not list(tmp_path.iterdir())
