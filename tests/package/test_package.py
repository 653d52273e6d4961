"""Source distribution and wheel: their contents, and that they coexist with another package ``datasets``."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from support import PROJECT, ran

ABOUT = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
#: What an installed package can check a run against; one paper suffices for the test.
REFERENCE = {f"results/reference/smoke/platt1998/{name}" for name in ("measurements.parquet", "claims.csv")}
NAME = f"{ABOUT['name']}-{ABOUT['version']}"

pytestmark = pytest.mark.slow


def attempt(
    *command: str | Path, cwd: Path, drop: tuple[str, ...] = ("PYTHON", "PIP_")
) -> subprocess.CompletedProcess[str]:
    """Run a command without the environment variables that begin with one of these prefixes."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(drop)}
    return ran(*command, cwd=cwd, env=clean)


def run(*command: str | Path, cwd: Path, drop: tuple[str, ...] = ("PYTHON", "PIP_")) -> str:
    done = attempt(*command, cwd=cwd, drop=drop)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(source: Path, kind: str, target: Path) -> Path:
    script = f"import sys, setuptools.build_meta as build\nbuild.build_{kind}(sys.argv[1])"
    run(sys.executable, "-c", script, target, cwd=source)
    (made,) = target.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the source distribution of the checkout, and the wheel built from that distribution alone."""
    folder = tmp_path_factory.mktemp("package")
    files = run("git", "ls-files", "-z", cwd=PROJECT).split("\0")
    for name in filter(None, files):
        # Reference runs and figures are large and not part of a package.
        if (PROJECT / name).is_file() and not name.startswith(("results/", "figures/")):
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, folder / "tree" / name)
    for name in REFERENCE:
        (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, folder / "tree" / name)
    (folder / "tree" / "results" / "left-over.csv").write_text("x\n")
    sdist = build(folder / "tree", "sdist", folder / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    return sdist, build(folder / "unpacked" / NAME, "wheel", folder / "wheel")


def test_what_is_in_them(built: tuple[Path, Path]) -> None:
    sdist, wheel = built
    assert sdist.name == f"{NAME}.tar.gz" and wheel.name == f"{NAME}-py3-none-any.whl"
    with tarfile.open(sdist) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    packages = {
        str(path.relative_to(PROJECT))
        for floor in ("solvers", "datasets", "workflow")
        for path in (PROJECT / floor).rglob("*")
        if path.suffix == ".py"
        or path.name in ("py.typed", "registry.yaml")
        or (path.is_file() and {"templates", "assets", "vendor", "skeletons"} & set(path.parts))
    }
    packages |= {
        str(path.relative_to(PROJECT))
        for folder in ("config", "profiles", "workflow/rules", "workflow/envs", "workflow/report")
        for path in (PROJECT / folder).rglob("*")
        if path.is_file()
    }
    packages |= {"workflow/Snakefile", "workflow/site/glossary.md"}
    assert packages <= sources
    assert {"LICENSE", "README.md", "pyproject.toml"} <= sources
    assert {name for name in sources if name.startswith("results/") and "." in name} == REFERENCE
    assert not [name for name in sources if name.startswith(("figures", "data/", ".git"))]
    packages |= REFERENCE
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        metadata = archive.read(f"{NAME}.dist-info/METADATA").decode()
    assert {f"svmrepro/{name}" for name in packages} == {
        name for name in inside if name.startswith("svmrepro/")
    }
    assert {name.partition("/")[0] for name in inside} == {"svmrepro", f"{NAME}.dist-info"}
    assert f"{NAME}.dist-info/licenses/LICENSE" in inside
    head = metadata.splitlines()
    assert f"Version: {ABOUT['version']}" in head
    assert f"License-Expression: {ABOUT['license']}" in head
    for extra in ABOUT["optional-dependencies"]:
        assert f"Provides-Extra: {extra}" in head


OTHER = {
    "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
    '[project]\nname = "datasets"\nversion = "9.9"\n[tool.setuptools]\npackages = ["datasets", '
    '"solvers", "workflow"]\n',
    "datasets/__init__.py": "OWNER = 'somebody else'\n",
    "solvers/__init__.py": "OWNER = 'somebody else'\n",
    "workflow/__init__.py": "OWNER = 'somebody else'\n",
}

USE = """
import datasets, solvers, workflow
assert {module.OWNER for module in (datasets, solvers, workflow)} == {"somebody else"}
from svmrepro import datasets as ours
from svmrepro.solvers import Kernel, Problem, certify, solve
import svmrepro.workflow.journal.journal_line
assert ours is not datasets and "site-packages" in ours.__file__ and ours.__file__.startswith(sys.prefix)
data = ours.generate("chess-board", n=200, seed=0)
problem = Problem(data.X, data.y, C=10.0, kernel=Kernel.gaussian(gamma=2.0))
solution = solve(problem, "smo", eps=1e-3)
assert solution.status == "optimal" and certify(problem, solution).max_violation <= 1.01e-3
assert "adult" in ours.names()
"""


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def python(environment: Path, script: str, cwd: Path) -> str:
    return run(environment / "bin" / "python", "-c", f"import sys\n{script}", cwd=cwd)


def pip(environment: Path, *arguments: str | Path) -> list[str | Path]:
    return [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", *arguments]


def installed(packages: Path) -> set[str]:
    return {path.name.partition("-")[0].lower() for path in packages.glob("*.dist-info")}


def test_it_lives_beside_another_datasets(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Install into an empty environment with the declared packages only; use it from another folder."""
    for name, text in OTHER.items():
        (tmp_path / "other" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "other" / name).write_text(text)
    other = build(tmp_path / "other", "wheel", tmp_path / "wheel")
    environment, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = environment / "lib" / version / "site-packages"
    assert installed(packages) <= {"pip", "setuptools"}
    run(*pip(environment, "install", "--no-deps", "--no-index", other), cwd=elsewhere)
    theirs = contents(packages)
    assert "datasets" in installed(packages)

    # The wheel's dependencies come from the index that pip is configured with.
    probe = pip(
        environment, "install", "--dry-run", "--no-deps", "--retries", "0", "--timeout", "20", "numba"
    )
    if attempt(*probe, cwd=elsewhere, drop=("PYTHON",)).returncode:
        pytest.skip("no package index is within reach")
    run(*pip(environment, "install", "--quiet", built[1]), cwd=elsewhere, drop=("PYTHON",))
    run(*pip(environment, "check"), cwd=elsewhere)
    assert {name: digest for name, digest in contents(packages).items() if name in theirs} == theirs
    python(environment, USE, elsewhere)
    # The workflow needs no clone: files go into the current folder.
    words = [environment / "bin" / "svmrepro", "noise-linear", "--scale", "smoke"]
    assert "54 runs" in run(*words, "--dry-run", cwd=elsewhere)
    run(*words, "--config", "experiments={platt1998: {noise-linear: {sizes: [100]}}}", cwd=elsewhere)
    assert (elsewhere / "results" / "smoke" / "platt1998" / "timing-noise-linear.md").is_file()
    # A step finds its own modules and reports in one line what is missing.
    step = [environment / "bin" / "python", "-m", "svmrepro.workflow.steps.check", "--config", "nowhere.json"]
    done = attempt(*step, cwd=elsewhere)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1

    def others() -> dict[str, str]:
        return {name: digest for name, digest in contents(packages).items() if "svmrepro" not in name}

    before = others()
    run(*pip(environment, "uninstall", "--yes", "svmrepro"), cwd=elsewhere)
    left = [path for path in (packages / "svmrepro").rglob("*") if path.is_file()]
    assert not [path for path in left if path.parent.name != "__pycache__"]
    python(environment, "import datasets\nassert datasets.OWNER == 'somebody else'", elsewhere)
    # Of the package, only caches of its source are left.
    gone = attempt(environment / "bin" / "python", "-c", "from svmrepro.solvers import solve", cwd=elsewhere)
    assert gone.returncode == 1 and "ImportError" in gone.stderr
    assert others() == before
    assert {name: before[name] for name in theirs} == theirs
