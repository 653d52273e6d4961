"""Malicious configurations: refused in one line with file and key; no shell interprets their text."""

import json
import re
from pathlib import Path

import pytest
from engine_support import EXPERIMENT, PROJECT, refusal, snakemake, tiny
from svmrepro.workflow.configuration import load_config
from svmrepro.workflow.configuration.plain_yaml import read_yaml
from svmrepro.workflow.errors import StepError

#: Strings that a shell, a path or a format string would interpret.
WORDS = (
    "$(touch evil)", "`touch evil`", "a;touch evil", "a&touch evil", "a|touch evil", "a>evil",
    "a\ntouch evil", "evil\n", "../evil", "..", "/tmp/evil", "~/evil", "-rf", "a b", "{threads}", "{", "%s",
    "'", '"', "\\", "\0", "\x1b[2J", "*", "", "a" * 101, "\u202eevil", "evil\u2028",
)  # fmt: skip


#: A small configuration, for speed.
_MINI = {
    "config.yaml": """
scale: default
data_dir: data
results_dir: results
figures_dir: figures
papers: [mini]
repeats: 1
""",
    "experiments/mini.yaml": """
paper: mini
title: Mini
experiments:
  one:
    title: One
    dataset: noise
    kernel: {name: linear}
    C: 1
    sizes: [50]
    contenders:
      smo: {solver: smo}
artefacts:
  timing-one: {kind: timing, form: table, title: One}
""",
}
AT = "experiments.mini.one"


@pytest.fixture
def folder(tmp_path):
    target = tmp_path / "config"
    (target / "experiments").mkdir(parents=True)
    for name, text in _MINI.items():
        (target / name).write_text(text)
    load_config({}, target)
    return target


@pytest.mark.parametrize("word", WORDS)
def test_names_of_the_command_line(folder, word):
    def one(**settings):
        return {"experiments": {"mini": {"one": settings}}}

    own = {
        "papers": {"papers": [word]},
        "scale": {"scale": word},
        "datasets": {"datasets": {word: {"path": "mine"}}},
        "experiments": {"experiments": {word: {}}},
        "experiments.mini": {"experiments": {"mini": {word: {}}}},
        f"{AT}.dataset": one(dataset=word),
        f"{AT}.contenders": one(contenders={word: {"solver": "smo"}}),
        f"{AT}.contenders.smo.solver": one(contenders={"smo": {"solver": word}}),
        f"{AT}.contenders.smo.storage": one(contenders={"smo": {"storage": word}}),
    }
    for key, overrides in own.items():
        assert refusal(overrides, folder).startswith(f"--config: {key}")


FOLDERS = ("results_dir", "figures_dir", "data_dir")
PLACES = ("mirror", "against")


@pytest.mark.parametrize(
    ("keys", "word"),
    [(FOLDERS, word) for word in ("x\ny", "x\n", "a{b}", "-x", "\0", "\x1b")]
    + [(PLACES, word) for word in ("x\ny", "x\n", "\0", "http://h/\x1b")],
)
def test_folders_of_results_and_places_to_read_from(folder, keys, word):
    for key in keys:
        assert refusal({key: word}, folder).startswith(f"--config: {key}: ")
    if keys == PLACES:
        own = {"datasets": {"mine": {"path": word}}}
        assert refusal(own, folder).startswith("--config: datasets.mine.path: ")


def in_paper(folder, old, new):
    text = _MINI["experiments/mini.yaml"]
    assert old in text
    (folder / "experiments" / "mini.yaml").write_text(text.replace(old, new, 1))
    return refusal({}, folder)


@pytest.mark.parametrize("word", [word for word in WORDS if word not in ("\0", "\u202eevil")])
def test_names_in_the_file_of_a_paper(folder, word):
    places = {"one": "experiments", "timing-one": "artefacts", "smo": "experiments.one.contenders"}
    for name, key in places.items():
        said = in_paper(folder, f" {name}:", f" {json.dumps(word)}:")
        assert said.startswith(f"config/experiments/mini.yaml: {key}")


@pytest.mark.parametrize("word", ["{threads}", "a {b", "}"])
def test_titles_hold_no_braces(folder, word):
    said = in_paper(folder, "title: One", f'title: "{word}"')
    assert said.startswith("config/experiments/mini.yaml: experiments.one.title: ")
    assert said.endswith("holds a brace")


@pytest.mark.parametrize("name", ["journal", "logs", "compare"])
def test_a_paper_is_not_called_as_a_folder_of_the_results(folder, name):
    text = _MINI["experiments/mini.yaml"].replace("paper: mini", f"paper: {name}")
    (folder / "experiments" / f"{name}.yaml").write_text(text)
    said = refusal({"papers": [name]}, folder)
    assert said == f"--config: papers[0]: {name!r} is the name of a folder of the results"


@pytest.mark.parametrize("name", ["measurements", "fits", "ratios"])
def test_a_table_is_not_called_as_a_file_of_the_results(folder, name):
    said = in_paper(folder, " timing-one:", f" {name}:")
    place = f"config/experiments/mini.yaml: artefacts.{name}"
    assert said == f"{place}: {name!r} is the name of a file of the results"


_TEN = "\n".join(f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 10)}]" for i in range(1, 10))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: !!python/object/apply:os.system [x]", ":2: holds a tag (!!python/object/apply:os.system)"),
        ("a: !evil x", ":1: holds a tag (!evil)"),
        ("a: !!binary aGVsbG8=", ":1: holds a tag (!!binary)"),
        ("a: !!set {x}", ":1: holds a tag (!!set)"),
        (f"b0: &b0 [1, 2]\n{_TEN}", ": with its anchors it stands for more than 100000 values"),
        (_TEN.replace("[", "{").replace("]", "}"), ":"),
        ("a: &a [*a]", ":1: *a holds itself"),
        ("a: &a {b: *a}", ":1: *a holds itself"),
        ("a: " + "[" * 100_000, ":1: nested deeper than 40 levels"),
        ("a: " + "{b: " * 3_000, ":1: nested deeper than 40 levels"),
        ("- " * 3_000, ":1: nested deeper than 40 levels"),
        ("a: " + "9" * 5_000, ":1: '" + "9" * 40 + "' is not a readable number"),
        ("a: 0b_", ":1: '0b_' is not a readable number"),
        ("\n".join(f"k{i}: 0" for i in range(100_001)), ":50000: with its anchors it stands for more"),
        ("a: \x00", ": unacceptable character"),
        ("*a : 1", ": found undefined alias"),
    ],
)
def test_files_that_are_refused_at_once(tmp_path, text, said):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(StepError) as caught:
        read_yaml(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:") and said.partition(":")[2] in message
    assert "\n" not in message and len(message) < 600


def test_dates_are_words(tmp_path):
    (tmp_path / "x.yaml").write_text("a: 2001-02-03\nb: 2001-99-99\nc: 1.5\nd: 1e3\ne: 0x10\n")
    texts = {"a": "2001-02-03", "b": "2001-99-99", "d": "1e3"}
    assert read_yaml(tmp_path / "x.yaml") == {**texts, "c": 1.5, "e": 16}


def test_a_bomb_behind_configfile_is_refused(folder):
    # Snakemake parses that file itself; the resulting object shares its parts and represents 10^9 of them.
    bomb = "x"
    for _ in range(9):
        bomb = [bomb] * 10
    assert refusal({"papers": bomb}, folder) == "--config: holds more than 100000 values"
    endless = []
    endless.append(endless)
    assert refusal({"papers": endless}, folder) == "--config: nested deeper than 40 levels"


#: What a rule's command may contain unquoted: quoted parts (Plan.steps, Plan.snakemake).
_SAFE = re.compile(r"\{(params\.step|params\.snakemake|[\w.]+:q)\}")


def test_no_command_of_a_rule_holds_an_unquoted_value():
    files = [PROJECT / "workflow" / "Snakefile", *(PROJECT / "workflow" / "rules").glob("*.smk")]
    commands = [
        text
        for file in files
        for text in re.findall(r"^\s+shell:\n((?:\s+\".*\"\n)+)", file.read_text(), re.MULTILINE)
    ]
    assert sum(file.read_text().count("shell:") for file in files) == len(commands) >= 9
    for command in commands:
        assert "{" not in _SAFE.sub("", command), command


def test_no_step_gives_a_text_to_a_shell():
    for folder in ("workflow", "datasets", "solvers"):
        for file in (PROJECT / folder).rglob("*.py"):
            text = file.read_text()
            shells = r"shell\s*=\s*True|os\.system|os\.popen|getoutput|\beval\(|\bexec\("
            assert not re.search(shells, text), file


def test_folders_whose_names_a_shell_would_read(tmp_path):
    """Users may choose such folders: everything works, and no part of the name is executed."""
    name = "a b $(touch evil);touch evil;'\"*"
    mine, home = tmp_path / name / "mine", tmp_path / "run"
    mine.parent.mkdir()
    home.mkdir()
    mine.write_text("+1 1:1\n-1 2:1\n" * 20)
    folders = {f"{kind}_dir": str(Path(kind) / name) for kind in ("results", "figures", "data")}
    own = {"datasets": {"mine": {"path": str(mine)}}, "mirror": str(tmp_path / name)}
    table = Path(folders["results_dir"]) / "default" / "platt1998" / f"timing-{EXPERIMENT}.md"
    ended = snakemake(home, tiny(sizes=(20,), of={"dataset": "mine"}, **folders, **own), str(table))
    assert ended.returncode == 0, ended.stderr
    assert "not run" not in (home / table).read_text()
    assert not list(tmp_path.rglob("evil"))
    made = {"results", "figures", "data", "overrides.json", ".snakemake", ".numba"}
    assert {path.name for path in home.iterdir()} <= made
