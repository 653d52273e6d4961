"""Settings of each kind of table and figure; the docstring of its builder explains them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from svmrepro.datasets.input_checks import pattern
from svmrepro.workflow.configuration.model import Number, Quantity
from svmrepro.workflow.configuration.settings import (
    ArtefactSettings,
    Count,
    FileSection,
    Name,
    Names,
    Positive,
)

_Words = Annotated[str, pattern(r"\S", "has no words")]
_SOME, _THREE = Meta(min_length=1), Meta(min_length=3, max_length=3)


class PanelSettings(FileSection):
    """A panel of a figure of curves."""

    contender: Name
    title: str = ""
    guide: Number | UnsetType = UNSET
    suffix: str = ""
    y: Quantity | UnsetType = UNSET


class ExampleSettings(FileSection):
    """A small problem in the plane, which a figure solves itself."""

    points: Annotated[list[tuple[Number, Number]], _THREE]
    labels: Annotated[list[Literal[-1, 1]], _THREE]
    C: Positive


class DeviationSettings(FileSection):
    """What is done differently from a paper."""

    where: _Words
    paper: _Words
    here: _Words
    because: _Words


_Solvers = Annotated[dict[Name, str], _SOME]

# Kind -> its settings: name, type, and a default if it is optional.
_SETTINGS: Mapping[str, Sequence[tuple[str, Any] | tuple[str, Any, Any]]] = {
    "contenders": [("axes", Names, ()), ("baseline", Name, "")],
    "deviations": [("deviations", Annotated[list[DeviationSettings], _SOME])],
    "problems": [("table", Name), ("contender", Name)],
    "paired": [("table", Name), ("contenders", Names), ("printed", Names, ())],
    "variants": [("table", Name), ("baseline", Name), ("contenders", Names)],
    "encodings": [
        *(("table", Name), ("iterations", Name), ("contender", Name)),
        *(("within", dict[Name, Positive]), ("slack", Annotated[int, Meta(ge=0)])),
    ],
    "readings": [
        *(("paper", Name), ("table", Name), ("baseline", Name), ("printed", Name)),
        *(("chosen", Names), ("held_out", Names), ("suffixes", tuple[str, ...])),
        *(("within", Positive), ("shown", Names, ())),
    ],
    "traffic": [("contenders", Names)],
    "benchmarks": [("baseline", Name)],
    "precision": [("targets", Annotated[list[Positive], _SOME]), ("yardstick", Name, "")],
    "peers": [("baseline", Name)],
    "parameters": [("table", Name), ("contender", Name)],
    "speed-up": [("modelled", Count)],
    "adult-encoding": [("dataset", Name)],
    "curves": [
        ("panels", Annotated[list[PanelSettings], _SOME]),
        ("x", Literal["n", "C_total", "eps"], "n"),
        *(("y", Quantity, Quantity()), ("label", str, ""), ("scale", Literal["log", "linear"], "log")),
        ("floor", Number, -math.inf),
    ],
    "working-sets": [("contenders", Names), ("sets", Annotated[tuple[Count, ...], _SOME])],
    "variant-ratios": [("table", Name), ("baseline", Name), ("contenders", Names)],
    "path": [("example", ExampleSettings), ("solvers", _Solvers)],
    "gain": [("example", ExampleSettings), ("solvers", _Solvers)],
    "step-lengths": [("contender", Name)],
    "settings": [("axes", Names)],
    "seconds-ratios": [("baseline", Name)],
}


@cache
def settings_of(kind: str) -> type[Struct]:
    """Return the type of an artefact's entry of a kind: the settings of all kinds, and its own."""
    fields = _SETTINGS.get(kind, ())
    return defstruct(kind, fields, bases=(ArtefactSettings,), kw_only=True, forbid_unknown_fields=True)
