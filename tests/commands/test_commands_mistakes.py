"""Plausible mistakes: one line that says what, where and what to do, and an exit code that is not 0."""

import os
import sys
from subprocess import CompletedProcess

import pytest
from commands_support import told
from svmrepro.workflow.commands import COMMANDS, checkout
from svmrepro.workflow.commands.main import entry

OWN = """\
papers: [platt1998]
datasets: {mine: {path: mine.libsvm}}
experiments:
  platt1998: {noise-linear: {dataset: mine, sizes: [2], C: 1}}
"""
NO_RULE = "there is no rule 'measur'; did you mean 'measure'?"


@pytest.fixture
def called(tmp_path, monkeypatch, capfd):
    """Return a function that runs `svmrepro` in this process, with words that it refuses."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SVMREPRO_")]:
        monkeypatch.delenv(name)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["svmrepro", *words])
        with pytest.raises(SystemExit) as ended:
            entry()
        code, said = ended.value.code, capfd.readouterr()
        if isinstance(code, str):  # which Python prints when it ends
            return CompletedProcess(words, 1, said.out, said.err + code)
        return CompletedProcess(words, code, said.out, said.err)

    return call


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["plat1998"], "there is no target 'plat1998'; did you mean 'platt1998'?"),
        (["benhc"], "there is no target 'benhc'; did you mean 'bench'?"),
        (["check", "plat1998"], "there is no target 'plat1998'; did you mean 'platt1998'?"),
        (["AdultLinD", "--scale", "smoke"],
         "AdultLinD: this experiment of platt1999 is not part of the smoke scale"),
        (["-s", "smo", "-d", "noise", "--scale", "smoke", "adult-linear"],
         "adult-linear: this experiment of platt1998 is not part of the smoke scale"),
        (["--scale", "smok"], "--scale: unknown scale 'smok'; did you mean 'smoke'?"),
        (["--config", "repeat=5"], "--config: repeat: unknown key; did you mean 'repeats'?"),
        (["--config", "repeats"],
         "--config: 'repeats' is not of the form KEY=VALUE"),
        (["compare", "--config", "against=nowhere"], "against: nowhere is not a folder"),
        (["compare", "results/nowhere"], "against: results/nowhere is not a folder"),
        (["compare", "nowhere"], "compare: 'nowhere' is not a folder, an archive or a paper"),
        (["compare", "plat1998"],
         "compare: 'plat1998' is not a folder, an archive or a paper; did you mean 'platt1998'?"),
        (["compare", "nowhere.zip"], "against: nowhere.zip: no such file or directory"),
        (["compare", "results/reference/default", "results/reference/paper"],
         "compare: one other run is compared, not 2: results/reference/default results/reference/paper"),
        (["compare", "results/reference/default", "--config", "against=results/reference/paper"],
         "compare: one other run is compared, not 2: results/reference/default results/reference/paper"),
        (["compare", "results/nowhere", "--config", "against=results/nowhere/"],
         "against: results/nowhere is not a folder"),
        (["noise-linear", "--config", "mirror=/dev/null/nowhere"],
         "mirror: /dev/null/nowhere is not a folder (key mirror, or variable SVMREPRO_MIRROR)"),
        (["noise-linear", "--cores", "0"], "--cores: must be positive, not 0"),
        (["noise-linear", "--cores", "-1"], "--cores: must be positive, not -1"),
        ([""], "there is no target ''"),
        (["check", "-d", "adult"], "-d: check takes whole papers; `./run -s smo -d adult` measures a part"),
        (["reference", "-s", "smo"], "reference: takes whole papers; leave out -s and -d"),
        (["compare", "-ssmo"], "-s: compare takes whole papers; `./run -s smo -d adult` measures a part"),
        (["noise-linear", "--config", "mirror=ftp://x/y"],
         "mirror: ftp://x/y is not an http(s) address (key mirror, or variable SVMREPRO_MIRROR)"),
        (["--set-threads", "x"],
         "--set-threads: 'x' is not of the form RULE=THREADS; see `snakemake --help`"),
        (["--workflow-profile", "nowhere"], "--workflow-profile: nowhere is not a folder"),
        (["--config", "C=0"], "--config: 'C': unknown key"),
        (["publish", "--scale", "smoke"],
         "nothing to publish: results/smoke has no measurements; `./run --scale smoke` makes them"),
        (["publish", "--scale", "smoke", "platt1998"],
         "nothing to publish: platt1998 is not complete in results/smoke; "
         "`./run platt1998 --scale smoke` completes it"),
        (["compare"],
         "compare: no other run is named, such as results/reference/default"),
        (["--executor", "slurn"],
         "--executor: 'slurn' is not installed; `./run pip install snakemake-executor-plugin-slurn` "
         "may add it; see `svmrepro run --help` and `snakemake --help`"),
        (["publish", "--scale", "smok"], "--scale: unknown scale 'smok'; did you mean 'smoke'?"),
        (["publish", "plat1998"],
         "the command line: papers[0]: unknown paper 'plat1998'; did you mean 'platt1998'?"),
        (["--configfile", "nowhere.yaml"], "nowhere.yaml: no such file or directory"),
        (["noise-linear", "--dry-run", "--config", "mirror=/dev/null/nowhere"],
         "mirror: /dev/null/nowhere is not a folder (key mirror, or variable SVMREPRO_MIRROR)"),
        (["check", "--scale", "smoke", "noise-linear"],
         "'noise-linear' is an experiment; check takes papers: platt1998, platt1999, glasmachers2008, "
         "joachims2006, peers"),
        (["reference", "--scale", "smoke", "noise-linear"],
         "'noise-linear' is an experiment; reference takes papers: platt1998, platt1999, glasmachers2008, "
         "joachims2006, peers"),
        (["compare", __file__], f"against: {__file__} is neither a folder nor an archive of a run"),
        (["publish", "-o", "/dev/null/nowhere/x.zip"],
         "--output: /dev/null/nowhere is not a folder; name an existing one"),
        (["--scale", "smoke", "--scale=paper"], "--scale is given twice; give it once"),
        (["publish", "--scale", "smoke", "--scale", "paper"], "--scale is given twice; give it once"),
        (["-c2", "--cores", "2"], "--cores is given twice; give it once"),
        (["--config", "scale=smoke", "--config", "repeats=5"],
         "--config is given twice; give it once, with all its values"),
        (["--configfile", "a.yaml", "--configfiles", "b.yaml"],
         "--configfile is given twice; give it once, with all its values"),
        (["--until", "measure", "-U", "all"], "--until is given twice; give it once, with all its values"),
        (["--until", "measur"], f"--until: {NO_RULE}"),
        (["--forcerun", "measur"], f"--forcerun: {NO_RULE}"),
        (["--omit-from", "measur"], f"--omit-from: {NO_RULE}"),
        (["--prioritize", "measur"], f"--prioritize: {NO_RULE}"),
        (["--allowed-rules", "measur"], f"--allowed-rules: {NO_RULE}"),
        (["--set-threads", "measure=1", "measur=1"], f"--set-threads: {NO_RULE}"),
        (["--set-resources", "measur:mem=1GB"], f"--set-resources: {NO_RULE}"),
        (["--groups", "measur=all"], f"--groups: {NO_RULE}"),
        (["noise-linear", "--report", "x.txt"], "--report: x.txt must end in .html or .zip"),
        (["--set-resources", "foo"],
         "--set-resources: 'foo' is not of the form RULE:RESOURCE=VALUE; see `snakemake --help`"),
        (["--default-resources", "foo"],
         "--default-resources: 'foo' is not of the form NAME=INT; see `snakemake --help`"),
    ],
)  # fmt: skip
def test_of_words(called, tmp_path, words, expected):
    assert told(called(*words)) == f"error: {expected}"
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize(
    "words", [("--cores", "x"), ("--cofig", "repeats=5"), ("--set-threads", "measure=-1")]
)
def test_of_words_that_a_library_refuses(called, words):
    line = told(called("noise-linear", *words))
    assert line.startswith("error: ") and words[0] in line and line.endswith("`snakemake --help`")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (name, word)
        for name in COMMANDS
        for word in ("--no-such-option", "no-such-word")
        if (name, word) != ("sums", "no-such-word")  # which has a test in tests/sums
    ],
)
def test_no_command_takes_every_word(called, name, word):
    ended = called(name, word)
    line = told(ended, ended.returncode or 1)
    assert line.startswith("error: ") and (word in line or "are required: " in line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~: 3\n", "my.yaml: key must be text, not None"),
        ("repeats: 3\n5: 4\n", "my.yaml: key must be text, not 5"),
        ("repeats: 3\nrepeats: 4\n", "my.yaml:2: key 'repeats' is given twice"),
        ("experiments: {platt1998: {adult-linear: {size: [1605]}}}\n",
         "my.yaml: experiments.platt1998.adult-linear.size: unknown key; did you mean 'sizes'?"),
        ("experiments: {platt1998: {noise-linear: {C: 0}}}\n",
         "my.yaml: experiments.platt1998.noise-linear.C: must be positive, not 0"),
        ("# repeats: 3\n", "my.yaml: holds no keys, so it would change nothing"),
    ],
)  # fmt: skip
def test_of_a_configuration_file(called, tmp_path, text, expected):
    (tmp_path / "my.yaml").write_text(text)
    line = told(called("run", "noise-linear", "--configfile", "my.yaml"))
    assert line == f"error: {expected}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("repeats: 3\npapers: [platt1998\nscale: smoke\n", ""),
        ("repeats: 3\npapers:\n\t- platt1998\n", " (a tab? indent with spaces)"),
    ],
)
def test_of_a_configuration_file_that_is_not_yaml(called, tmp_path, text, hint):
    (tmp_path / "my.yaml").write_text(text)
    line = told(called("run", "noise-linear", "--configfile", "my.yaml"))
    assert line.startswith("error: my.yaml:3: ") and line.endswith(hint)


@pytest.mark.parametrize("words", ["docs", "texts", "test", "sums", "new paper mine"])
def test_what_needs_a_clone_says_so_where_the_package_is_installed_without_one(
    called, tmp_path, monkeypatch, words
):
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    line = told(called(*words.split()))
    assert line.startswith(f"error: this command needs a clone of the repository: {tmp_path} has no ")


def test_what_may_be_given_twice(called):
    line = told(called("-s", "smo", "-s", "chunking", "--config", "repeats=2", "time_limit=never"))
    assert line == "error: --config: time_limit: must be a number or null, not 'never'"


def test_the_last_of_several_files_is_blamed_for_its_own(called, tmp_path):
    (tmp_path / "one.yaml").write_text("repeats: none\n")
    (tmp_path / "two.yaml").write_text("time_limit: never\n")
    line = told(called("--configfile", "one.yaml", "two.yaml", "--config", "repeats=2"))
    assert line == "error: two.yaml: time_limit: must be a number or null, not 'never'"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("1 1:1\nnan 1:2\n", "mine.libsvm:2: "),
        ("0 1:1\n1 1:2\n", "mine.libsvm:1: label 0 where -1 or 1 was expected; the key 'labels' maps others"),
        ("1 1:1\n-1 1:nan\n", "mine.libsvm:2: "),
        ("1 1:1\n1 1:2\n", "mine.libsvm"),
        ("1 1:1\n-1 1:x\n", "mine.libsvm:2: "),
        ("", "mine.libsvm"),
        (None, "datasets.mine: mine.libsvm: cannot be read: No such file or directory"),
    ],
)
def test_of_ones_own_data(called, tmp_path, rows, expected):
    if rows is not None:
        (tmp_path / "mine.libsvm").write_text(rows)
    (tmp_path / "my.yaml").write_text(OWN)
    line = told(called("run", "noise-linear", "--configfile", "my.yaml"))
    assert line.startswith("error: ") and expected in line
