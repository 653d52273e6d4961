"""The command bench: its settings, its mistakes, and a whole bench of two solvers on a table."""

import dataclasses
import importlib
import json
import math
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from scipy import sparse
from sklearn.svm import SVC
from support import ran, rows_of
from svmrepro import datasets
from svmrepro.datasets.errors import OneClassError
from svmrepro.datasets.readers.npz import write_npz
from svmrepro.solvers import SOLVERS, conformance
from svmrepro.workflow.analysis.runs import Group, MeasuredRun
from svmrepro.workflow.commands import bench as bench_command
from svmrepro.workflow.commands.main import main
from svmrepro.workflow.configuration import config_dir
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.figures.performance_profile import ratios_to_best, steps
from svmrepro.workflow.figures.seconds_objectives import best_primal, distances
from svmrepro.workflow.joining import bench_run, bench_settings
from svmrepro.workflow.joining.bench_folder import MARK, data_line, folder_of
from svmrepro.workflow.joining.bench_run import bench
from svmrepro.workflow.joining.bench_settings import Bench
from svmrepro.workflow.locks import lock

SOLVER = """
from types import SimpleNamespace
import numpy as np
from sklearn.svm import SVC

def train(problem, eps, time_limit, cache_mb=40):
    print("training")
    model = SVC(C=problem.C, kernel="rbf", gamma=problem.kernel.gamma, tol=eps, cache_size=cache_mb)
    model.fit(problem.X, problem.y)
    alpha = np.zeros(problem.n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return SimpleNamespace(alpha=alpha, bias=model.intercept_[0])

def refuse(problem, eps, time_limit, cache_mb=40):
    raise ValueError("no luck")
"""


@pytest.fixture
def table(tmp_path):
    """Rows sorted by class, as files often are."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.sort((X[:, 0] > 0).astype(int))
    X = X[np.argsort(X[:, 0])]
    lines = [",".join(f"{v:.6g}" for v in row) + f",{label}" for row, label in zip(X, y, strict=True)]
    path = tmp_path / "mine.csv"
    path.write_text("a,b,c,sick\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_the_default_gamma_is_that_of_scikit_learn(tmp_path, form, shift):
    X = np.random.default_rng(0).normal(size=(500, 4)) * 1e-7 ** (not shift) + shift
    if shift and form is not np.asarray:
        X *= X - shift > 0  # scikit-learn's own formula cancels for sparse examples that are all far from 0
    y = np.resize([-1, 1], 500)
    file = tmp_path / "mine.npz"
    write_npz(file, form(X), y)
    found = bench_settings.sample_of_file(file, tmp_path / "own", None)
    model = SVC(gamma="scale").fit(datasets.load("mine").X, y)
    assert found.gamma == pytest.approx(model._gamma, rel=1e-9)


def test_rows_of_a_file_are_drawn_at_random(table, tmp_path):
    found = bench_settings.sample_of_file(table, tmp_path / "own", 100, {0.0: -1.0, 1.0: 1.0}, "sick")
    assert (found.rows, found.of, found.name) == (100, 200, "mine")
    with np.load(found.own["path"]) as stored:
        rows, y = stored["X"], stored["y"]
    assert {-1.0, 1.0} == set(y[:20]), "every size holds both classes"
    whole = datasets.load("mine").X.tolist()
    assert all(row in whole for row in rows.tolist()) and len(np.unique(rows, axis=0)) == 100
    again = bench_settings.sample_of_file(table, tmp_path / "own", 50, {0.0: -1.0, 1.0: 1.0}, "sick")
    with np.load(again.own["path"]) as stored:
        assert np.array_equal(stored["X"], rows[:50])


def test_a_solver_of_ones_own_joins_all_others_and_known_names_choose():
    alone = bench_settings.contenders_of(Bench())
    joined = bench_settings.contenders_of(Bench(["my.pkg:fit"], options={"q": 1}))
    assert [*joined] == [*alone, "my.pkg.fit"] and len(alone) > 3
    assert joined["my.pkg.fit"] == {"solver": "my.pkg:fit", "options": {"q": 1}}
    chosen = bench_settings.contenders_of(Bench(["my.pkg:fit", "libsvm", "csmo"]))
    assert {entry["solver"] for entry in chosen.values()} == {"my.pkg:fit", "libsvm", "csmo"}
    assert chosen["csmo"]["options"]["cache_mb"] == alone["smo2"]["options"]["cache_mb"]
    assert "dual-descent" in bench_settings.contenders_of(Bench(bias=False, kernel="linear"))


def test_a_baseline_is_named_by_its_label_or_as_a_solver():
    for asked, label in (("", "mine.fit"), ("libsvm", "libsvm-dense"), ("mine:fit", "mine.fit")):
        contenders = {"mine.fit": {"solver": "mine:fit"}, "libsvm-dense": {"solver": "libsvm"}}
        assert bench_settings.baseline_of(Bench(baseline=asked), contenders) == label


@pytest.mark.parametrize("widths", [(3, 5), (5, 3)])
def test_of_two_libsvm_files_each_may_lack_the_last_columns(widths, tmp_path):
    paths = [tmp_path / "a1a", tmp_path / "a1a.t"]
    for path, width in zip(paths, widths, strict=True):
        path.write_text(f"1 1:1 {width}:2\n-1 2:1\n")
    found = bench_settings.sample_of_file(paths[0], tmp_path / "own", None, test=paths[1])
    for part in ("path", "test"):
        with np.load(found.own[part]) as stored:
            assert stored["shape"].tolist() == [2, 5]


def test_what_an_import_prints_does_not_belong_to_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "greeting.py").write_text("print('hello')\ndef train(problem, eps, time_limit): ...\n")
    bench_settings.check_own_solvers(Bench(["greeting:train"]))
    assert capsys.readouterr() == ("", "hello\n")


def test_sparse_examples_too_wide_for_dense_rows_have_no_dense_contenders(tmp_path):
    path = tmp_path / "wide.libsvm"
    path.write_text("".join(f"{(-1) ** k} {k + 1}:1 4000000:1\n" for k in range(50)))
    wide = bench_settings.sample_of_file(path, tmp_path / "own", None)
    labels = bench_settings.write_configuration(Bench(["my.pkg:fit", "libsvm"]), [wide], tmp_path)
    assert labels == ["libsvm-sparse", "my.pkg.fit"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("1e5", 1e5), ("010", 10), ("no", "no"), ("true", True), ("-2", -2), ("a b", "a b")],
)
def test_options_are_read_as_by_the_conformance_test(text, value):
    found = [command._option(f"q={text}") for command in (bench_command, conformance)]
    assert found == [("q", value)] * 2 and type(found[0][1]) is type(value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-s", "smo-newtn"], "--solver smo-newtn: no package declares the solver 'smo-newtn'"),
        (["-s", "nowhere:fit"], "--solver nowhere:fit: there is no module 'nowhere' on the Python path"),
        (["-s", "string:fit"], "--solver string:fit: module 'string' has no 'fit'"),
        (["-s", "string:capwords"], "it is called as capwords(problem, eps, time_limit)"),
        (["-s", "csv:reader:x"], "--solver csv:reader:x: 'csv:reader:x' is not of the form"),
        (["-s", "dual-descent"], "--solver: dual-descent takes no bias: add --no-bias --kernel linear"),
        (["-s", "smo2", "--no-bias", "--kernel", "linear"], "--solver: smo2 has a bias: leave out --no-bias"),
        (["--no-bias"], "--no-bias: only linear solvers go without a bias"),
        (["-d", "adlut"], "--data: adlut is neither a file nor a data set; did you mean 'adult'?"),
        (["-d", "."], "--data: . is a folder: name a file in it"),
        (["-d", "TABLE"], ":2: label '0' where -1 or 1 was expected; --labels maps others, such as 0:-1,1:1"),
        (["-d", "TABLE", "--labels", "0=1"], "--labels: '0=1' is not a label with its sign, such as 0:-1"),
        (["-d", "TABLE", "--labels", "0:-1,1:1", "--label", "ill"], ":1: no column 'ill'"),
        (["-d", "TABLE", "--labels", "0:-1,1:1", "-n", "999"], "-n 999: the file has only 200 rows"),
        (["-d", "TABLE", "--labels", "0:-1,1:1", "-n", "1"], "mine.csv: -n 1: at least 2 rows are needed"),
        (
            ["-d", "TABLE", "--labels", "a:1,b:1"],
            "error: --labels: must give -1 to some labels and +1 to the",
        ),
        (["--labels", "a:1,b:-1,a:-1"], "--labels: a is given twice"),
        (["--labels", "0:-1,0.0:1"], "--labels: 0 is given twice"),
        (["--test", "t.csv"], "--test: is for a file of yours, not for the generated data; leave it out"),
        (["-d", "adult", "--test", "t.csv"], "--test: is for a file of yours, not for adult; leave it out"),
        (
            ["-d", "adult", "-d", "web", "--labels", "0:-1,1:1"],
            "--labels: is for a file of yours, not for adult, w",
        ),
        (["-d", "adult", "--label", "y"], "--label: is for a file of yours, not for adult"),
        (
            ["-d", "x.libsvm", "--label", "y"],
            "--label: is for tables (.csv, .tsv), not for x.libsvm; leave it out",
        ),
        (["--C", "0"], "--C: must be positive, not 0"),
        (["--C", "nan"], "--C: must be positive, not nan"),
        (["--gamma", "-1"], "--gamma: must be positive, not -1"),
        (["--kernel", "linear", "--gamma", "1"], "--gamma: the linear kernel has no gamma; leave it out"),
        (["--degree", "3"], "--degree: the gaussian kernel has no degree; leave it out"),
        (["--rows", "0"], "--rows: must be positive, not 0"),
        (["--baseline", "smo-newtn"], "--baseline: no solver 'smo-newtn'; did you mean 'smo-newton'?"),
        (["--baseline", "smo-newtn", "-d", "adlut"], "--baseline: no solver 'smo-newtn'"),
        (["--option", "q"], "--option: 'q' is not of the form NAME=VALUE"),
        (["-s", "libsvm", "--option", "q=1"], "--option: no solver of yours takes part"),
        (["--C", "1e300"], "--C: must be a number below 2^63, not 1e+300"),
    ],
)
def test_mistakes_are_told_in_one_line(words, said, table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *(str(table) if word == "TABLE" else word for word in words)]) == 1
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert told.startswith("error: ") and said in told, told


def test_a_bench_from_beginning_to_end(table, tmp_path, monkeypatch):
    (tmp_path / "mypkg.py").write_text(SOLVER)
    data = ["-d", str(table), "--labels", "0:-1,1:1", "--test", str(table)]
    words = ["bench", "-s", "mypkg:train", "-s", "libsvm", *data]
    command = [sys.executable, "-m", "svmrepro.workflow.commands.main", *words, "--option", "cache_mb=20"]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    ended = ran(*command, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    folder = tmp_path / "bench" / "mine"
    rows = {row["contender"]: row for row in rows_of(folder / "table.csv")}
    assert [*rows] == ["LIBSVM, dense", "LIBSVM, sparse", "mypkg.train"]
    mine = rows["mypkg.train"]
    assert mine["n"] == "200" and float(mine["ratio"]) > 0 and float(mine["memory"]) >= 0
    assert abs(float(mine["gap"])) < 1e-2 and float(mine["violation"]) < 2.1e-3
    details = rows_of(folder / "details.csv")
    assert {row["n"] for row in details} == {"50", "100", "200"} and "relative" in details[0]
    measured = rows_of(folder / "measurements.csv")
    assert all(float(row["performance.accuracy"]) > 0.8 for row in measured)
    assert "mypkg.train" in ended.stdout and "training" not in ended.stdout
    ticks = json.loads((folder / "figure.json").read_text())["panels"][1]["y"]["ticks"]
    assert len({text for _, text in ticks}) == len(ticks) > 1, "the ends differ by less than a label shows"
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    settings = yaml.safe_load((folder / "config" / "experiments" / "bench.yaml").read_text())
    assert settings["experiments"]["mine"]["sizes"] == [50, 100, 200]
    assert "default scale" not in ended.stdout and "at the next size" not in ended.stdout


def test_a_bench_of_arrays_from_python_is_that_of_the_command(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_package.py").write_text(SOLVER)
    train = importlib.import_module("own_package").train
    solvers = ["own_package:train", "own_package:refuse", "libsvm"]
    settings = {"labels": {0: -1, 1: 1}, "options": {"cache_mb": 20}, "gamma": np.float64(0.5), "rows": 50}
    rows = np.loadtxt(table, delimiter=",", skiprows=1)
    found, figure = bench([train, *solvers[1:]], {"mine": (rows[:, :3], rows[:, 3])}, **settings)
    labels = ["LIBSVM, dense", "LIBSVM, sparse", "own_package.train", "own_package.refuse"]
    assert found.contender.tolist() == labels
    assert (found.gap[:3].abs() < 1e-2).all() and math.isnan(found.seconds[3])
    assert figure == tmp_path / "bench" / "mine" / "figure.png" and figure.is_file()
    assert "bench: own_package.refuse solved none of 1 run; mine, n = 50" in capsys.readouterr().err
    before = rows_of(figure.with_name("measurements.csv"))
    data = ["-d", "bench/mine/arrays/mine.npz", "--labels", "0:-1,1:1"]
    words = [*data, "--option", "cache_mb=20", "--gamma", "0.5", "-n", "50"]
    words += [word for name in solvers for word in ("-s", name)]
    assert main(["bench", *words]) == 1
    after = rows_of(figure.with_name("measurements.csv"))
    solved, refused = ([row for row in after if (row["status"] == "error") == kind] for kind in (False, True))
    assert solved == [row for row in before if row["status"] != "error"], "nothing solved is measured again"
    assert len(refused) == 1 and not any(row in before for row in refused), "what failed is tried again"
    said = f"mine: measured; {len(solved)} of {len(after)} runs by an earlier bench (--again"
    assert said in capsys.readouterr().err
    assert main(["bench", *words, "--again"]) == 1
    ids = ({row["run_id"] for row in each} for each in (after, rows_of(figure.with_name("measurements.csv"))))
    assert set.isdisjoint(*ids) and "earlier" not in capsys.readouterr().err


@contextmanager
def waiting(*words, folder):
    """Run a script whose bench waits for its folder, in which it has written nothing yet."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    env = {**os.environ, "PYTHONPATH": ""}
    with lock(folder / "bench" / "mine" / ".run.lock"):
        process = subprocess.Popen([sys.executable, *words], cwd=folder, env=env, **pipes)
        said = next(line for line in process.stderr if line.startswith("bench: "))
        assert f"waiting: bench/mine is in use by the bench of process {os.getpid()} on " in said
        assert [path.name for path in (folder / "bench" / "mine").iterdir()] == [".run.lock"]
        yield process


def test_a_bench_that_waited_for_one_of_other_data_replaces_nothing(table, tmp_path):
    script = (
        "import numpy as np\n"
        "from svmrepro.workflow.joining.bench_run import bench\n"
        "X = np.random.default_rng(0).normal(size=(60, 2))\n"
        "bench('libsvm', {'mine': (X, np.sign(X[:, 0]))}, repeats=1)\n"
    )
    folder = tmp_path / "bench" / "mine"
    with waiting("-c", script, folder=tmp_path) as process:
        (folder / MARK).parent.mkdir(parents=True)
        (folder / MARK).write_text(data_line([table]))
    _, said = process.communicate(timeout=240)
    assert process.returncode and not (folder / "table.csv").exists()
    assert f"holds a bench of {table}" in said


def test_a_script_waits_for_another_bench_and_hands_on_modules_that_lie_beside_it(tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    for name in ("imported.py", "named.py"):
        (folder / name).write_text(SOLVER)
        (tmp_path / name).write_text("def train(problem, eps, time_limit):\n    pass\n")
    (folder / "script.py").write_text(
        "from imported import train\n"
        "import numpy as np\n"
        "from svmrepro.workflow.joining.bench_run import bench\n"
        "X = np.random.default_rng(0).normal(size=(60, 2))\n"
        "solvers = [train, 'named:train', 'libsvm']\n"
        "table, _ = bench(solvers, {'mine': (X, np.sign(X[:, 0]))}, repeats=1)\n"
        "print(*table.contender[table.seconds > 0], sep=', ')\n"
    )
    with waiting("scripts/script.py", folder=tmp_path) as process:
        pass
    printed, said = process.communicate(timeout=240)
    assert process.returncode == 0 and (tmp_path / "bench" / "mine" / "table.csv").is_file(), said
    assert printed == "LIBSVM, dense, LIBSVM, sparse, imported.train, named.train\n"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kernel": "rbf"}, "--kernel: 'rbf'; one of gaussian, linear, polynomial expected"),
        ({"C": -1}, "--C: must be positive, not -1"),
        ({"solvers": "smo-newtn"}, "--solver smo-newtn: no package declares the solver"),
        ({"data": "gone.csv"}, "--data: gone.csv is neither a file nor a data set"),
        ({"data": {"mine": [[1.0, 2.0]]}}, "data['mine']: (X, y) expected, not list"),
        ({"data": {"mine": ([["a"]], [1])}}, "data['mine']: X: numbers expected, not <U1"),
        ({"data": {"my/set": ([[1.0]], [1])}}, "data['my/set']: a name of letters, digits,"),
        ({"solvers": lambda problem, eps, time_limit: None}, "solvers: <function <lambda>"),
    ],
)
def test_mistakes_in_a_call_name_the_option(settings, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(StepError, match=f"^{re.escape(said)}"):
        bench(**settings)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "made", ["config/config.yaml", "config/config.json", "notes", "own/mine.csv", "x/own/a.npz"]
)
def test_a_folder_with_other_files_is_refused(made, tmp_path):
    (tmp_path / made).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / made).write_text("mine")
    first = made if made.startswith(("own", "config/config.yaml")) else made.split("/")[0]
    said = f"--output: {tmp_path} holds files that no bench made ({first}); name an empty folder, or that of"
    with pytest.raises(StepError, match=re.escape(said)):
        folder_of([], tmp_path)
    assert (tmp_path / made).read_text() == "mine"


def test_the_folder_of_a_bench_is_used_again_even_of_one_that_was_killed(tmp_path):
    for first in (
        "",
        "own/mine.npz",
        "arrays/.mine.1-x.npz",
        ".numba/x",
        str(MARK),
        "config/config.yaml",
        "own/x",
    ):
        if first:
            (tmp_path / first).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / first).write_text("paper: bench\n")
        assert folder_of([], tmp_path) == tmp_path


def test_the_projects_own_configuration_is_never_overwritten(tmp_path):
    (tmp_path / "config").symlink_to(config_dir())
    for folder in (config_dir().parent, tmp_path):
        with pytest.raises(StepError, match=r"no bench made \(config/config\.yaml\)"):
            folder_of([], folder)


@pytest.mark.parametrize(
    ("output", "said"), [("", "is empty; name a folder"), ("x.csv", "x.csv is a file; name")]
)
def test_an_output_that_is_no_folder(output, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").touch()
    with pytest.raises(StepError, match=f"^--output: {said}"):
        folder_of([], output)


def test_a_bench_of_other_data_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("d1/x.csv", "d2/x.csv"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    (tmp_path / "bench" / "x" / MARK).parent.mkdir(parents=True)
    (tmp_path / "bench" / "x" / MARK).write_text(data_line(["d1/x.csv"]) + "paper: bench\n")
    said = f"--data: bench/x holds a bench of {tmp_path}/d1/x.csv; name another folder by -o"
    for data, output in (
        (["d2/x.csv"], None),
        (["d2/x.csv"], "bench/x"),
        (["web"], "bench/x"),
        ([], "bench/x"),
    ):
        with pytest.raises(StepError, match=re.escape(said)):
            folder_of(data, output)
    assert folder_of(["d1/x.csv"]) == folder_of(["d1/x.csv", "web"], "bench/x") == folder_of(["x"])
    (tmp_path / "d1" / "x.csv").unlink()  # or was moved
    assert folder_of(["d2/x.csv"]).name == folder_of(["web"], "bench/x").name == "x"
    for before, said in (["web"], "web"), ([], "generated sets"):
        (tmp_path / "bench" / "x" / MARK).write_text(data_line(before) + "paper: bench\n")
        with pytest.raises(StepError, match=f"bench/x holds a bench of {said}; name another folder by -o"):
            folder_of(["d2/x.csv"], "bench/x")
        assert folder_of(before, "bench/x").name == "x"
    stored = tmp_path / "bench" / "x" / "arrays" / "mine.npz"
    stored.parent.mkdir()
    stored.touch()
    (tmp_path / "bench" / "x" / MARK).write_text(data_line([stored]) + "paper: bench\n")
    assert folder_of(["mine"], "bench/x") == folder_of([stored], "bench/x")
    with pytest.raises(StepError, match=r"holds a bench of .*arrays/mine\.npz"):
        folder_of(["yours"], "bench/x")


@pytest.mark.parametrize("data", ["[", "7", "[7]", "\xff"])
def test_a_damaged_list_of_data_is_told_in_one_line(data, tmp_path):
    (tmp_path / MARK).parent.mkdir(parents=True)
    (tmp_path / MARK).write_text(f"# data: {data}\npaper: bench\n", encoding="latin-1")
    said = f"{tmp_path / MARK}: the list of data is damaged; name another folder by -o"
    with pytest.raises(StepError, match=f"^{re.escape(said)}$"):
        folder_of([], tmp_path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (["d1/x.csv", "d2/x.csv"], "d1/x.csv and d2/x.csv would both be called 'x'; rename one"),
        (["d1/a b.csv", "a-b.npz"], "d1/a b.csv and a-b.npz would both be called 'a-b'; rename one"),
        (["x.csv", "x.csv"], "x.csv is named twice; name it once"),
        (["adult", "adult"], "adult is named twice; name it once"),
        (["adult.csv", "own-adult.csv"], "adult.csv and own-adult.csv would both be called 'own-adult'"),
        (["x.csv", "x-test.csv"], "x.csv and x-test.csv would both be called 'x-test'; rename one"),
    ],
)
def test_two_data_of_one_name(data, said):
    with pytest.raises(StepError, match=f"^--data: {re.escape(said)}"):
        bench_settings.check_data(Bench(data=data, test="t.csv" if ".csv" in data[0] else None))


def test_a_bench_does_not_overwrite_its_data(tmp_path):
    path = tmp_path / "own" / "mine.npz"
    path.parent.mkdir()
    np.savez(path, X=np.eye(4), y=np.array([1, -1, 1, -1]))
    before = path.read_bytes()
    with pytest.raises(StepError, match=r"mine\.npz would be overwritten by a sample of it"):
        bench_settings.sample_of_file(path, path.parent, None)
    assert path.read_bytes() == before


def test_a_profile_counts_unsolved_problems_but_none_without_the_contender():
    problems = [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": math.inf}, {}, {"a": 5.0}]
    ratios = ratios_to_best(problems, ["a", "b"])
    assert ratios == {"a": [1.0, 1.0, 1.0], "b": [2.0, math.inf]}
    assert steps(ratios["a"], 9.0) == ([1.0, 9.0], [1.0, 1.0])
    assert steps(ratios["b"], 9.0) == ([1.0, 2.0, 9.0], [0.0, 0.5, 0.5])


def test_distances_come_from_the_trace_and_end_at_the_certificate():
    solved = {"status": "optimal", "certificate.passed": "true", "flagged": "false", "repeat": "0"}
    fields = {**solved, "cpu_seconds": "2", "certificate.primal": "10", "certificate.dual": "9.9"}
    run = MeasuredRun({**fields, "info.trace": "[[0.5, 5.0], [1.0, null], [1.5, 10.0]]"})
    other = MeasuredRun({**fields, "certificate.primal": "11"})
    best = best_primal([Group((run,)), Group((other,))])
    assert best == 10.0
    assert distances(run, best) == [(0.5, 0.5), (1.5, 1e-12), (2.0, pytest.approx(0.01))]
    assert distances(other, best) == [(2.0, pytest.approx(0.01))]
    impossible = MeasuredRun({**fields, "info.trace": "[[1e-6, 1e9], [1.0, 9.0]]"})
    assert distances(impossible, best) == distances(other, best)
    assert best_primal([]) is None


def test_data_that_are_not_there(tmp_path):
    with pytest.raises(StepError, match=r"gone\.csv"):
        bench_settings.sample_of_file(tmp_path / "gone.csv", tmp_path, None)


def test_the_files_of_all_sizes_and_of_the_test_set_are_fetched(monkeypatch):
    sizes, files = [], []

    def load(name, n, data_dir):
        sizes.append(n)
        return SimpleNamespace(X=np.eye(2))

    def refuse(*_, **__):
        raise datasets.DatasetUnavailable("adult (a9a.t)", ["host: no network"])

    monkeypatch.setattr(datasets, "load", load)
    monkeypatch.setattr(bench_settings, "ensure_file", lambda entry, file, folder: files.append(file))
    assert bench_settings.known_set("adult", 4000).tested
    assert sizes == [500, 1000, 2000, 4000] and files == ["a9a.t"]
    monkeypatch.setattr(bench_settings, "ensure_file", refuse)
    found = bench_settings.known_set("adult", 4000)
    assert not found.tested and "host: no network" in found.untested
    monkeypatch.setattr(datasets, "load", refuse)
    with pytest.raises(StepError, match="host: no network; the same command tries again"):
        bench_settings.known_set("adult", 4000)


def test_smaller_sizes_may_hold_one_class_but_have_no_other_fault(monkeypatch):
    faults = {500: OneClassError("adult: n = 500: the first 500 rows hold one class only")}

    def load(name, n, data_dir):
        if n in faults:
            raise faults[n]
        return SimpleNamespace(X=np.eye(2))

    monkeypatch.setattr(datasets, "load", load)
    monkeypatch.setattr(bench_settings, "ensure_file", lambda *_: None)
    assert bench_settings.known_set("adult", 4000).rows == 4000
    faults[1000] = datasets.StorageError("data: no space left on device")
    with pytest.raises(StepError, match="no space left on device"):
        bench_settings.known_set("adult", 4000)


def test_solvers_that_are_not_installed_are_told_if_they_would_take_part(monkeypatch):
    missing = dataclasses.replace(SOLVERS["smo2"], package="no-such-package")
    monkeypatch.setattr(bench_settings, "SOLVERS", {**SOLVERS, "smo2": missing})
    assert "smo2" in bench_settings.absent(Bench())
    assert bench_settings.absent(Bench(["smo-newton"])) == ""
    said = "not installed: smo2; install with `./run pip install no-such-package`"
    assert bench_settings.absent(Bench(["smo-newton", "smo2"])) == said
    assert [*bench_settings.contenders_of(Bench(["smo-newton", "smo2"]))] == ["smo-newton"]
    with pytest.raises(StepError, match=f"--solver: {said}"):
        bench_settings.contenders_of(Bench(["smo2"]))


def test_a_name_that_is_no_text_can_be_written(table, tmp_path):
    path = tmp_path / os.fsdecode(b"\xff\xe4.csv")
    path.write_bytes(table.read_bytes())
    found = bench_settings.sample_of_file(path, tmp_path / "own", None, {0.0: -1.0, 1.0: 1.0})
    assert (found.name, found.title) == ("data", "\ufffd\ufffd.csv")
    bench_settings.write_configuration(Bench(["libsvm"], [path]), [found], tmp_path)
    assert "\ufffd.csv" in yaml.safe_load((tmp_path / MARK).read_text())["experiments"]["data"]["title"]


@pytest.mark.parametrize(
    ("status", "said"), [("time_limit", {"no solver solved anything": True}), ("optimal", {})]
)
def test_a_bench_in_which_nothing_was_solved(status, said, monkeypatch):
    monkeypatch.setattr(bench_run.paths, "job_files", lambda *_: ["one"])
    monkeypatch.setattr(bench_run, "read_lines", lambda file: [{"status": "time_limit"}, {"status": status}])
    experiment = SimpleNamespace(paper="bench", name="mine")
    assert bench_run._nothing_solved(SimpleNamespace(experiments=[experiment])) == said


def test_rows_of_one_class_name_the_file_and_the_option(tmp_path):
    path = tmp_path / "rare.csv"
    path.write_text("1,1\n" + "2,-1\n" * 99)
    with pytest.raises(
        StepError, match=r"rare\.csv: -n 3: the first 3 rows, drawn at random, hold one class"
    ):
        bench_settings.sample_of_file(path, tmp_path / "own", 3)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_bench_that_is_stopped_says_how_to_go_on(number, code, table, tmp_path, monkeypatch, capsys):
    def stopped(*_):
        signal.raise_signal(number)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench_settings, "check_own_solvers", stopped)
    # A shell's background job ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["bench", "-d", str(table)]) == code
    finally:
        signal.signal(signal.SIGINT, before)
    assert "stopped; finished measurements are kept in bench/mine, and the same" in capsys.readouterr().err
