"""What can be checked of the containers without an engine: their entry."""

import os
import shutil
import tempfile
from pathlib import Path

from support import PROJECT, ran

FOLDER = PROJECT / "containers"


def test_the_entry_copies_compiled_code_once_and_passes_its_words(tmp_path):
    home, here = tmp_path / "image", tmp_path / "here"
    for folder in (home / "containers", home / ".venv" / "bin", home / ".numba" / "key", here):
        folder.mkdir(parents=True)
    shutil.copy(FOLDER / "entry", home / "containers")
    program = home / ".venv" / "bin" / "svmrepro"
    program.write_text('#!/bin/sh\nprintf "%s|" "$PWD" "$@"\n')
    program.chmod(0o755)
    (home / ".numba" / "key" / "code").write_text("old")
    # Every container has the same number of the process; an earlier one may have been stopped.
    stopped = 'mkdir -p ".numba.$$"; exec "$0" "$@"'
    entry = str(home / "containers" / "entry")
    for made in ("old", "new"):
        ended = ran("sh", "-c", stopped, entry, "bench", "a b", cwd=here, env={"PATH": os.environ["PATH"]})
        assert ended.stdout == f"{here}|bench|a b|", ended.stderr
        assert (here / ".numba" / "key" / "code").read_text() == made
        (here / ".numba" / "key" / "code").write_text("new")
    assert sorted(path.name for path in (here / ".numba").iterdir()) == ["key"]


def test_a_user_without_a_home_that_can_be_written_gets_the_present_folder(tmp_path):
    home, here = tmp_path / "image", tmp_path / "here"
    for folder in (home / "containers", home / ".venv" / "bin", here, tmp_path / "mine"):
        folder.mkdir(parents=True)
    shutil.copy(FOLDER / "entry", home / "containers")
    program = home / ".venv" / "bin" / "svmrepro"
    program.write_text('#!/bin/sh\nprintf %s "$HOME"\n')
    program.chmod(0o755)
    for folder, expected in ((tmp_path / "none", here), (tmp_path / "mine", tmp_path / "mine")):
        own = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        assert ran(home / "containers" / "entry", "bench", cwd=here, env=own).stdout == str(expected)


def test_the_entry_says_that_a_folder_cannot_be_written():
    nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}  # root can write anywhere
    with tempfile.TemporaryDirectory() as folder:
        home, here = Path(folder) / "containers", Path(folder) / "here"
        home.mkdir()
        shutil.copy(FOLDER / "entry", home)
        here.mkdir()
        for each in (here, home, Path(folder)):
            each.chmod(0o555)
        ended = ran(home / "entry", "bench", cwd=here, **nobody)
        for each in (Path(folder), home, here):
            each.chmod(0o755)
    assert ended.returncode == 2
    assert f"cannot write in {here}: make the folder before" in ended.stderr
