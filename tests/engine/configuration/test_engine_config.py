import math
import shutil
from pathlib import Path

import pytest
from engine_support import EXPERIMENT, prepare, refusal, rows, snakemake, solver, tiny
from msgspec import inspect
from svmrepro.datasets.registry import RegistryKeys
from svmrepro.workflow.configuration import (
    callers_folder,
    config_dir,
    dump_config,
    jobs,
    load_config,
    read_config,
)
from svmrepro.workflow.configuration import settings as structs
from svmrepro.workflow.configuration.loading import merged
from svmrepro.workflow.configuration.model import HeldOut
from svmrepro.workflow.configuration.plain_yaml import read_yaml
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.judgement.claims import all_claims


def experiment(**settings):
    return {"experiments": {"platt1998": {"adult-linear": settings}}}


OWN = {"path": "mine.csv", "labels": {"0": "-1", 1.5: 1, "many": 1}, "label": "sick", "test": "more.csv"}


def own_data(**settings):
    return {"datasets": {"mine": {**OWN, **settings}}}


def contender(label="smo", **settings):
    return experiment(contenders={label: settings})


AT = "--config: experiments.platt1998.adult-linear"


SMO = f"{AT}.contenders.smo"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"time_limt": 1}, "--config: time_limt: unknown key; did you mean 'time_limit'?"),
        ({"repeats": "3x"}, "--config: repeats: must be a whole number, not '3x'"),
        ({"job": "sizes"}, "job: must be one of experiment, size, not 'sizes'; did you mean 'size'?"),
        ({"repeats": "1e9"}, "not '1e9'; YAML reads it as text: write 1000000000"),
        ({"time_limit": "1e-3"}, "write it with a decimal point, such as 1.0e-3"),
        ({"time_limit": 0}, "--config: time_limit: must be positive, not 0"),
        ({"scale": "smok"}, "--config: scale: unknown scale 'smok'; did you mean 'smoke'?"),
        ({"papers": ["plat1998"]}, "papers[0]: unknown paper 'plat1998'; did you mean 'platt1998'?"),
        ({"experiments": {"plat1998": {}}}, "--config: experiments.plat1998: unknown paper"),
        ({"experiments": {"platt1998": {"adult": {}}}}, "experiments.platt1998.adult: unknown experiment"),
        ({"datasets": {"mine": {}}}, "--config: datasets.mine: key 'path' is missing"),
        (own_data(labels={0: 2, 1: 1}), "--config: datasets.mine.labels[0]: must be one of -1, 1, not 2"),
        (own_data(format="xls"), "datasets.mine.format: must be one of libsvm, csv, npz, not 'xls'"),
        (own_data(lables={0: -1, 1: 1}), "--config: datasets.mine.lables: "),
        (experiment(iteration_limit=1.5), f"{AT}.iteration_limit: must be a whole number or .inf, not 1.5"),
        (experiment(C=math.inf), f"{AT}.C: must be a number below 2^63 in size, not inf"),
        (experiment(C_total=3), "adult-linear: needs exactly one of C and C_total"),
        (experiment(sizes=[]), f"{AT}.sizes: must not be empty"),
        (experiment(sizes=[99999]), f"{AT}.sizes[0]: adult: n = 99999: the set has 32561 rows"),
        (experiment(sizes=[5, 5]), f"{AT}.sizes: contains duplicates: [5, 5]"),
        (experiment(kernel={"name": "gausian"}), f"{AT}.kernel.name: unknown kernel 'gausian'; did you"),
        (experiment(kernel={"gamma": 1}), f"{AT}.kernel: kernel linear: parameter 'gamma' unknown"),
        (experiment(seeds=[1]), f"{AT}.seeds: data set 'adult' is not generated: it takes no seed"),
        (contender(solver="sno"), f"{SMO}.solver: unknown solver 'sno'; did you mean 'smo'?"),
        (contender(solver="engine_solvers.inner:f"), "solver: there is no module 'engine_solvers.inner'"),
        (contender(solver="engine_solvers:quik"), "solver: module 'engine_solvers' has no 'quik'"),
        (contender(solver="my-module:f"), "'my-module:f' is not of the form package.module:function"),
        (contender("new", storage="csr"), f"{AT}.contenders.new: key 'solver' is missing"),
        (contender(options={"step": 1}), f"{SMO}.options.step: unknown option of 'smo': 'step'; did you"),
        (contender(options={"step_tol": "x"}), "smo.solver: solver 'smo': option 'step_tol' must be like"),
        (contender(permutations=2), f"{SMO}.permutations: the experiment has no permutations"),
        (contender(warm=True), f"{SMO}.warm: needs a grid"),
        (contender(bias=False), "solver 'smo' needs bias=True"),
        (contender("new", solver="svmperf"), "solver 'svmperf' needs bias=False"),
        (
            contender("own", solver="engine_solvers:quick", iteration_limit=5),
            f"{AT}.contenders.own.iteration_limit: a solver of your own takes no iteration limit",
        ),
        (
            experiment(iteration_limit=5, contenders={"thunder": {"solver": "thundersvm"}}),
            f"{AT}.contenders.thunder.iteration_limit: solver 'thundersvm' takes no iteration limit",
        ),
    ],
)
def test_fault_names_its_place(overrides, message):
    assert message in refusal(overrides)


def test_a_value_of_the_wrong_type_names_its_key():
    for kind, settings, place in (
        (structs.Settings, dict, "--config: "),
        (structs.ExperimentSettings, experiment, f"{AT}."),
        (structs.ContenderSettings, contender, f"{SMO}."),
    ):
        for name in kind.__struct_fields__:
            assert refusal(settings(**{name: [None]})).startswith(f"{place}{name}")


@pytest.fixture
def folder(tmp_path):
    target = tmp_path / "config"
    shutil.copytree(config_dir(), target)
    return target


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_deployed_folder_has_its_own_claims_and_printed_numbers(folder):
    replace(folder / "claims" / "platt1998.yaml", "rule: {at-least: 1000}", "rule: {at-least: 9}")
    own, project = (load_config({"papers": ["platt1998"]}, place) for place in (folder, None))
    assert own.described("papers", "platt1998") == folder / "papers" and project.folder is None
    ours, theirs = (next(iter(all_claims(config).values())) for config in (own, project))
    assert [claim.bound for claim in ours] != [claim.bound for claim in theirs]
    shutil.rmtree(folder / "papers")
    assert own.described("papers", "platt1998") == config_dir() / "papers"


PLATT = "experiments/platt1998.yaml"
GLASMACHERS = "experiments/glasmachers2008.yaml"
JOACHIMS = "experiments/joachims2006.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("smoke.yaml", "repeats: 2", "repets: 2", "config/smoke.yaml: repets: unknown key"),
        ("smoke.yaml", "800, 1605]", "99999]", "experiments.platt1998.adult-linear.sizes[1]: adult: n"),
        ("smoke.yaml", "repeats: 2", "repeats: 2\nrepeats: 3", "smoke.yaml:4: key 'repeats' is given twice"),
        (
            "smoke.yaml",
            "repeats: 2",
            "repeats: !!python/object/apply:os.getpid []",
            "smoke.yaml:3: holds a tag",
        ),
        (PLATT, "dataset: adult\n", "dataset: adulte\n", f"{PLATT}: experiments.adult-linear.dataset: unk"),
        (PLATT, "experiment: noise-linear", "experiment: noize-linear", "did you mean 'noise-linear'?"),
        (PLATT, "form: table", "form: tabel", "form: must be one of table, figure, not 'tabel'"),
        (
            PLATT,
            "kind: timing",
            "kind: timing\n    baseline: smo",
            "artefacts.timing-adult-linear.baseline: unk",
        ),
        (GLASMACHERS, "points: [[0, 0], ", "points: [", "example.points: must be of length at least 3"),
        (PLATT, "where:", "were:", "deviations[0].were: unknown key; did you mean 'where'?"),
        (PLATT, "because:", 'because: ""\n        # ', "deviations[0].because: '' has no words"),
        (JOACHIMS, "minus_at:", "minus-at:", "figure4.y.minus-at: unknown key; did you mean 'minus_at'?"),
        (JOACHIMS, "suffix: -best", "sufix: -best", "panels[3].sufix: unknown key; did you mean 'suffix'?"),
        (JOACHIMS, "scale: linear", "scale: linaer", "scale: must be one of log, linear, not 'linaer'"),
        (JOACHIMS, "x: C_total", "x: C_totl", "x: must be one of n, C_total, eps, not 'C_totl'"),
        (JOACHIMS, "baseline: svmperf", "yardstick: svmperf", "yardstick: unknown key"),
    ],
)
def test_fault_names_its_file(folder, file, old, new, message):
    replace(folder / file, old, new)
    assert message in refusal({"scale": "smoke"}, folder)


def test_every_key_is_described():
    """Only existing keys are described."""
    kinds = {
        "config": structs.Settings,
        "data_set": structs.OwnData,
        "paper": structs.PaperFile,
        "experiment": structs.ExperimentSettings,
        "axis": structs.AxisSettings,
        "grid": structs.GridSettings,
        "test": HeldOut,
        "kernel": structs.KernelSettings,
        "contender": structs.ContenderSettings,
        "artefact": structs.ArtefactSettings,
    }
    described = read_yaml(config_dir() / "keys.yaml")
    assert {name: set(keys) for name, keys in described.items()} == {
        name: set(kind.__struct_fields__) for name, kind in kinds.items()
    }


def test_no_text_with_a_pattern_stands_beside_a_list():
    """Nor beside a mapping: msgspec crashes when it frees such a type, see input_checks.pattern."""
    roots = (structs.Settings, structs.PaperFile, RegistryKeys)
    left = list(inspect.multi_type_info(roots))
    seen = []
    while left:
        kind = left.pop()
        if kind in seen:
            continue
        seen.append(kind)
        left += [field.type for field in getattr(kind, "fields", ())]
        left += [
            getattr(kind, name) for name in ("item_type", "value_type", "key_type") if hasattr(kind, name)
        ]
        each = getattr(kind, "types", ())
        left += each
        patterns = [one for one in each if isinstance(one, inspect.StrType) and one.pattern]
        others = [one for one in each if hasattr(one, "item_type") or hasattr(one, "value_type")]
        assert not (patterns and others), kind
    assert len(seen) > 50


def test_a_mapping_may_go_on_from_another(tmp_path):
    path = tmp_path / "merged.yaml"
    with pytest.raises(StepError, match=r"merged\.yaml: no such file"):
        read_yaml(path)
    path.write_text("- 1\n")
    with pytest.raises(StepError, match="must hold a mapping"):
        read_yaml(path)
    path.write_text("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\n  z: 4\n")
    assert read_yaml(path) == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3, "z": 4}}
    path.write_text("a: &a {x: 1}\nb:\n  <<: *a\n  y: 3\n  y: 4\n")
    with pytest.raises(StepError, match=r"merged\.yaml:5: key 'y' is given twice"):
        read_yaml(path)


@pytest.mark.parametrize("scale", ["default", "smoke", "paper"])
def test_written_configuration_reads_back_the_same(tmp_path, scale):
    config = load_config({"scale": scale})
    (tmp_path / "config.json").write_text(dump_config(config))
    assert read_config(tmp_path / "config.json") == config
    assert config.scale == scale


def test_command_line_wins_over_scale():
    config = load_config({"scale": "smoke", "repeats": 7, **experiment(sizes=[11221, 1605])})
    found = config.papers["platt1998"].experiments["adult-linear"]
    assert found.repeats == 7 and found.bound(100) == 0.05
    assert found.sizes == (1605, 11220)
    assert found.paper_sizes == {1605: 1605, 11220: 11221}
    # A data set of one's own takes part.
    own = {"datasets": {"mine": {"path": "mine.libsvm"}}, **experiment(dataset="mine", sizes=[7])}
    found = load_config(own).papers["platt1998"].experiments["adult-linear"]
    assert (found.dataset, found.sizes, found.seeds) == ("mine", (7,), (None,))


def test_another_data_set_may_lack_the_papers_sizes():
    found = load_config(experiment(dataset="spambase", sizes=[1605]))
    described = found.experiment("platt1998", "adult-linear")
    assert described.sizes == (1605,) and described.paper_sizes == {1605: 1605}


def test_a_data_set_in_place_of_the_papers_is_a_stand_in():
    def found(paper="platt1998", name="adult-linear", **settings):
        changed = {"experiments": {paper: {name: {"sizes": [7], **settings}}}}
        return load_config({"datasets": {"mine": {"path": "mine.csv"}}, **changed}).experiment(paper, name)

    assert found().stand_in_for == found(dataset="adult").stand_in_for == ""
    for dataset in ("mine", "spambase"):
        assert found(dataset=dataset).stand_in_for == "adult"
        assert found(dataset=dataset).title.endswith(" (stand-in)")
    ccat = ("joachims2006", "rcv1-like")
    assert found(*ccat).stand_in_for == found(*ccat, dataset="mine").stand_in_for == "rcv1-ccat"
    assert found(*ccat, dataset="rcv1-ccat").stand_in_for == ""


def test_a_data_set_of_ones_own(tmp_path):
    """YAML gives numbers as keys, --config texts."""
    config = load_config({**own_data(), **experiment(dataset="mine", sizes=[7])})
    assert config.datasets["mine"].labels == ((0.0, -1.0), (1.5, 1.0), ("many", 1.0))
    assert config.own_files("mine") == ["mine.csv", "more.csv"] and config.own_files("adult") == []
    (tmp_path / "config.json").write_text(dump_config(config))
    assert read_config(tmp_path / "config.json") == config


def test_null_takes_out_experiments_contenders_and_orphaned_artefacts():
    paper = load_config(tiny()).papers["platt1998"]
    assert list(paper.experiments) == [EXPERIMENT]
    assert set(paper.experiments[EXPERIMENT].contenders) == {"one", "two"}
    assert "timing-noise-linear" in paper.artefacts
    assert "timing-adult-linear" not in paper.artefacts
    assert paper.artefacts["scaling"].experiments == (EXPERIMENT,)
    with pytest.raises(StepError, match="no experiment 'adult-linear' of paper 'platt1998'"):
        load_config(tiny()).experiment("platt1998", "adult-linear")


def test_mirror_of_environment(monkeypatch):
    monkeypatch.setenv("SVMREPRO_MIRROR", "/somewhere")
    assert load_config({}).mirror == "/somewhere"
    assert load_config({"mirror": "https://host/data"}).mirror == "https://host/data"
    monkeypatch.delenv("SVMREPRO_MIRROR")
    assert load_config({}).mirror is None


def test_a_leading_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("SVMREPRO_MIRROR", "~/data")
    folders = dict.fromkeys(("data_dir", "results_dir", "figures_dir", "against"), "~/mine")
    files = {"datasets": {"mine": {"path": "~/mine", "test": "~/mine"}}}
    config = load_config({**folders, **files})
    assert {str(getattr(config, name)) for name in folders} == {"/home/me/mine"}
    assert config.own_files("mine") == ["/home/me/mine"] * 2 and config.mirror == "/home/me/data"
    assert (
        callers_folder.input_path("~/mine") == callers_folder.output_path("~/mine") == Path("/home/me/mine")
    )
    assert load_config({"data_dir": "~nobody-of-this-name/x"}).data_dir == Path("~nobody-of-this-name/x")


def test_command_tells_a_fault_in_one_line(tmp_path):
    ended = snakemake(tmp_path, {"time_limt": 3}, "-n")
    assert ended.returncode != 0
    assert "error: overrides.json: time_limt: unknown key; did you mean 'time_limit'?" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_texts_of_the_command_line_are_read_as_yaml_reads_them():
    # What --config require_data=true 'experiments={platt1998: {adult-linear: {C: 0.1}}}' gives in Snakemake.
    contenders = {"chunking": {"options": {"bends": "true"}}}
    inner = experiment(C="0.1", sizes=["1605", "2265"], contenders=contenders)
    config = load_config({"require_data": "true", "mirror": "null", **inner})
    assert config.require_data is True
    found = config.experiment("platt1998", "adult-linear")
    assert (found.C, found.sizes) == (0.1, (1605, 2265))
    assert found.contenders["chunking"].options["bends"] is True


def test_texts_of_a_file_stay_texts():
    own = {"path": str(Path(__file__)), "label": "2", "format": "csv"}
    config = load_config([("mine.yaml", {"datasets": {"mine": own}})])
    assert config.datasets["mine"].label == "2"
    assert merged({"datasets": {"mine": {"rows": "2"}}}) == {"datasets": {"mine": {"rows": 2}}}
    assert merged([("mine.yaml", {"datasets": {"mine": own}})])["datasets"]["mine"] == own


def test_contenders_of_a_paper_join_every_experiment(folder):
    replace(folder / PLATT, "experiments:", "contenders:\n  more: {solver: smo2}\nexperiments:")
    everywhere = {"contenders": {"platt1998": {"own": {"solver": "engine_solvers:quick"}, "chunking": None}}}
    special = experiment(contenders={"own": {"storage": "dense"}, "more": {"options": {"cache_mb": 1}}})
    found = load_config({**everywhere, **special}, folder).papers["platt1998"].experiments
    assert all({"own", "more"} <= set(each.contenders) for each in found.values())
    assert not any("chunking" in each.contenders for each in found.values())
    linear, gaussian = found["adult-linear"].contenders, found["adult-gaussian"].contenders
    assert (linear["own"].storage, gaussian["own"].storage) == ("dense", "auto")
    assert (linear["more"].options, gaussian["more"].options) == ({"cache_mb": 1}, {})
    assert next(iter(gaussian)) == "more"  # the paper's before the experiment's
    fewer = {"contenders": {"glasmachers2008": {"pasmo-2": {"permutations": 7}}}}
    found = load_config(fewer, folder).papers["glasmachers2008"].experiments  # pasmo-2 is not in all of them
    assert "pasmo-2" not in found["heart"].contenders
    assert found["banana"].contenders["pasmo-2"].permutations == 7
    for wrong, said in (
        (
            {"platt1998": {"own": {"solver": "sno"}}},
            "--config: contenders.platt1998.own.solver: unknown solver",
        ),
        ({"glasmachers2008": {"pasmo-4": {"storage": "dense"}}}, "pasmo-4: key 'solver' is missing"),
        ({"plat1998": {}}, "--config: contenders.plat1998: unknown paper 'plat1998'"),
        ({"platt1998": 3}, "--config: contenders.platt1998: must be a mapping"),
    ):
        assert said in refusal({"contenders": wrong})
    replace(folder / PLATT, "  more: {solver: smo2}", "  more: {solver: smo3}")
    assert f"{PLATT}: contenders.more.solver: unknown solver 'smo3'" in refusal({}, folder)


def test_the_limit_of_steps_is_the_experiments_or_the_contenders_own(tmp_path):
    own = {"quick": {"solver": "engine_solvers:quick"}, "smo": {"iteration_limit": ".inf"}}
    own["thunder"] = {"solver": "thundersvm", "iteration_limit": None}
    config = load_config(experiment(iteration_limit=500, contenders=own))
    found = config.experiment("platt1998", "adult-linear")
    assert found.contenders["chunking"].iteration_limit == 500
    assert found.contenders["smo"].iteration_limit == math.inf
    assert found.contenders["quick"].iteration_limit is None
    assert found.contenders["thunder"].iteration_limit is None
    (tmp_path / "config.json").write_text(dump_config(config))
    assert read_config(tmp_path / "config.json") == config
    # Older rows used the solver's own cap; another limit makes another row.
    limits = ({}, {"iteration_limit": None}, {"iteration_limit": 500}, {"iteration_limit": math.inf})
    made = [load_config(experiment(**limit)).experiment("platt1998", "adult-linear") for limit in limits]
    keys = [jobs.instances(each)[0].fingerprint for each in made]
    assert keys[0] == keys[1] and len(set(keys)) == 3


def test_a_baseline_of_choice_replaces_that_of_tables_with_its_contender():
    chosen = load_config({"papers": ["peers", "platt1999"], "baseline": "libsvm-dense"})
    own = load_config({"papers": ["peers", "platt1999"]})
    baselines = {
        paper: {
            name: (artefact.settings["baseline"], own.papers[paper].artefacts[name].settings["baseline"])
            for name, artefact in chosen.papers[paper].artefacts.items()
            if "baseline" in artefact.settings
        }
        for paper in chosen.papers
    }
    assert set(baselines["peers"].values()) == {("libsvm-dense", "smo-newton")}
    assert set(baselines["platt1999"].values()) == {("smo", "smo")}
    with pytest.raises(StepError, match="baseline: unknown contender 'libsvn-dense'; did you mean"):
        load_config({"papers": ["peers"], "baseline": "libsvn-dense"})


def test_a_contender_takes_part_up_to_its_largest_size():
    contenders = {"all": solver("quick"), "small": {**solver("quick"), "largest": 20}}
    found = rows(prepare(contenders, (20, 40)))
    assert [[contender.label for contender in row.contenders] for row in found] == [["all", "small"], ["all"]]
