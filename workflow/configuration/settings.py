"""Types of the configuration files; ``config/keys.yaml`` explains each key.

UNSET marks a field that was not given. If that differs from null, null is not the default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType
from svmrepro.datasets.input_checks import Fault, pattern, shown
from svmrepro.workflow.configuration.model import HeldOut

T = TypeVar("T")
U = TypeVar("U")

_CONTROL = "holds a line break or another control character"

Name = Annotated[
    str,
    pattern(r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z", "is not a valid name (letters, digits, '.', '_', '-')", 1, 100),
]
# Snakemake treats braces as wildcards.
Text = Annotated[str, pattern(r"^[^{}]*\Z", "holds a brace", min_length=1)]
Caption = Annotated[str, pattern(r"^[^{}]*\Z", "holds a brace")]
# Output folders. A command would take a leading dash for an option.
Folder = Annotated[
    str,
    pattern(
        r"^(?!-)[^\x00-\x1f\x7f{}]+\Z",
        "is not a usable folder name: no braces, line breaks or control characters, and no '-' in front",
    ),
]
# Input paths.
Place = Annotated[str, pattern(r"^[^\x00-\x1f\x7f]+\Z", _CONTROL, min_length=1)]
Mirror = Annotated[str, pattern(r"^[^\x00-\x1f\x7f]*\Z", _CONTROL)]
Count = Annotated[int, Meta(ge=1)]
# Integers stay integers: such numbers enter the keys of measured rows as they are written.
Positive = Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)]
Limit = Positive | None
Steps = Annotated[int, Meta(ge=1)] | Annotated[float, Meta(ge=1)] | None
Sizes = Annotated[tuple[Annotated[int, Meta(ge=2)], ...], Meta(min_length=1)]
# may be empty: a scale then has no nested sizes
Nested = tuple[Annotated[int, Meta(ge=2)], ...]
Points = Annotated[tuple[Positive, ...], Meta(min_length=1)]
Seeds = Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)]
Names = Annotated[tuple[Name, ...], Meta(min_length=1)]


class FileSection(Struct, forbid_unknown_fields=True):
    """A mapping of a file; its lists may not contain duplicates."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, tuple) and len(set(value)) < len(value):
                raise Fault((name,), f"contains duplicates: {shown(list(value))}")


class KernelSettings(FileSection):
    """A kernel, or changes of one."""

    name: str | UnsetType = UNSET
    gamma: Positive | UnsetType = UNSET
    sigma2: Positive | UnsetType = UNSET
    degree: Count | UnsetType = UNSET
    a: int | float | UnsetType = UNSET
    c: int | float | UnsetType = UNSET


class ContenderSettings(FileSection):
    """A contender, or changes of one."""

    solver: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    storage: str = "auto"
    encoding: str | UnsetType | None = UNSET
    bias: bool | UnsetType = UNSET
    eps: Positive | UnsetType = UNSET
    options: dict[str, Any] = {}
    time_limit: Limit | UnsetType = UNSET
    iteration_limit: Steps | UnsetType = UNSET
    memory_limit_mb: Limit = None
    permutations: Count | UnsetType = UNSET
    warm: bool = False
    nested: bool = True
    largest: Count | UnsetType = UNSET


class GridSettings(FileSection):
    """The cells of a grid."""

    C: Points
    gamma: Points


class AxisSettings(FileSection):
    """The parameter that varies at each size."""

    C: Points | UnsetType = UNSET
    C_total: Points | UnsetType = UNSET
    eps: Points | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if [self.C, self.C_total, self.eps].count(UNSET) != 2:
            raise Fault((), "needs exactly one of C, C_total and eps")


class ExperimentSettings(FileSection):
    """An experiment, or changes of one."""

    title: Text | UnsetType = UNSET
    dataset: Name | UnsetType = UNSET
    stand_in_for: Text | None = None
    kernel: KernelSettings | UnsetType = UNSET
    C: Positive | UnsetType = UNSET
    C_total: Positive | UnsetType = UNSET
    bias: bool = True
    encoding: str | None = None
    eps: Positive | UnsetType = UNSET
    sizes: Sizes | UnsetType = UNSET
    nested: Nested = ()
    axis: AxisSettings | UnsetType = UNSET
    grid: GridSettings | UnsetType = UNSET
    trace: bool = False
    measures: Annotated[tuple[str, ...], Meta(min_length=1)] | UnsetType = UNSET
    test: HeldOut | UnsetType = UNSET
    seeds: Seeds | UnsetType = UNSET
    permutations: Count | UnsetType = UNSET
    resample: bool = False
    repeats: Count | UnsetType = UNSET
    repeat_budget: Limit | UnsetType = UNSET
    time_limit: Limit | UnsetType = UNSET
    iteration_limit: Steps = None
    contenders: Annotated[Mapping[Name, ContenderSettings | None], Meta(min_length=1)] | UnsetType = UNSET


class Settings(FileSection, kw_only=True):
    """The merged configuration: config.yaml, a scale's file and the command line."""

    scale: Name
    data_dir: Folder
    results_dir: Folder
    figures_dir: Folder
    mirror: Mirror | None = None
    against: Place | None = None
    baseline: Name | None = None
    require_data: bool = False
    require_complete: bool = False
    timed_jobs: Count = 1
    pin: bool | Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)] = False
    shuffle: Annotated[int, Meta(ge=0)] | None = None
    count_instructions: bool = False
    job: Literal["experiment", "size"] = "experiment"
    papers: Names
    repeats: Count
    most_permutations: Count | None = None
    repeat_budget: Limit = None
    time_limit: Limit = None
    datasets: dict[Name, OwnData] = {}
    contenders: dict[Name, dict[Name, ContenderSettings | None]] = {}
    experiments: dict[Name, dict[Name, ExperimentSettings | None] | None] = {}


class OwnData(FileSection):
    """A user's own data set."""

    path: Place
    format: Literal["libsvm", "csv", "npz"] | None = None
    labels: Annotated[dict[str | int | float, Literal[-1, 1]], Meta(min_length=2)] | None = None
    label: Annotated[str, Meta(min_length=1)] = "last"
    features: Count | None = None
    test: Place | None = None


class WholeExperiment(ExperimentSettings, kw_only=True):
    """An experiment of a paper's file, with the configuration's changes merged in."""

    title: Text
    dataset: Name
    kernel: KernelSettings
    sizes: Sizes
    contenders: Mapping[Name, ContenderSettings | None]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid is not UNSET:
            self._check_grid()
        elif (self.C is UNSET) == (self.C_total is UNSET):
            raise Fault((), "needs exactly one of C and C_total")
        if not any(self.contenders.values()):
            raise Fault(("contenders",), "must not be empty")

    def _check_grid(self) -> None:
        for name in ("C", "C_total", "axis", "measures"):
            if getattr(self, name) is not UNSET:
                raise Fault((name,), "an experiment with a grid has no such key")
        if (
            self.kernel.name != "gaussian"
            or self.kernel.gamma is not UNSET
            or self.kernel.sigma2 is not UNSET
        ):
            raise Fault(("kernel",), "a grid needs a gaussian kernel without gamma or sigma2")


class ArtefactSettings(FileSection, forbid_unknown_fields=False):
    """A table or figure; its kind may have further settings."""

    kind: Name
    form: Literal["table", "figure"]
    title: Text
    caption: Caption = ""
    experiment: Name | UnsetType = UNSET
    experiments: Names | UnsetType = UNSET


class PaperFile(FileSection, kw_only=True):
    """A file of ``config/experiments``."""

    paper: Name
    title: Text
    contenders: dict[Name, ContenderSettings | None] = {}
    experiments: dict[Name, WholeExperiment | None]
    artefacts: dict[Name, ArtefactSettings]

    def __post_init__(self) -> None:
        if not any(self.experiments.values()):
            raise Fault(("experiments",), "must not be empty")


def valid_name(text: str) -> str:
    """Return the `Name` closest to a text, such as the label of a solver ``package.module:function``."""
    return re.sub(r"[^A-Za-z0-9._-]", ".", text).lstrip("._-") or "own"


def given(value: T | UnsetType, default: U) -> T | U:
    """Return a value, or the default if it was not given."""
    return default if isinstance(value, UnsetType) else value
