"""The numbers that a figure draws, as JSON: what a reader sees when pointing at a mark.

The numbers are read from the finished figure, so they cannot differ from the picture, and no kind of figure
has to describe itself twice. A panel is a dictionary with

``title``
    Its title.
``x``, ``y``
    Its axes: ``label`` (of one or more lines), ``scale`` ("linear" or "log"), ``range``, and ``ticks``, a
    list of (position, text).
``series``
    Marks and lines of one look: ``name`` (from the legend, or ""), ``x``, ``y``, ``low`` and ``high`` (ends
    of the vertical 95 % intervals, or empty), ``mode`` ("markers", "lines" or "lines+markers"), and the look.
    A null separates two lines.
``bars``
    Histograms: ``name``, ``left``, ``width``, ``height``, ``colour``.
``notes``
    Texts within the panel: ``x``, ``y``, ``text``.

Some panels have more:

``equal``
    True if a unit is as long on both axes.
``cells``
    Maps: ``x`` and ``y`` of the centres of the cells that have a value, ``width``, ``height``, ``value`` and
    ``colour``.
``contours``
    Level sets: ``name``, ``x``, ``y`` with a null between two curves, and the look of a line. Points that lie
    on a straight line of the picture are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

_MATHEMATICS = re.compile(r"\$([^$]*)\$")
_ABSENT = ("None", "none", " ", "", None)

GUIDE = "_guide"
"""Label of a line that only leads the eye: it has no name, even if an entry of the legend looks like it."""


def to_json(figure: Figure) -> str:
    """Return the numbers of a figure as JSON; it must have been drawn before, so that its ticks are final."""
    legends = [*figure.legends, *(legend for axes in figure.axes if (legend := axes.get_legend()))]
    known = [
        (text.get_text(), handle)
        for legend in legends
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
        if isinstance(handle, Line2D)
    ]
    panels = [_panel(axes, known, figure) for axes in figure.axes if axes.get_visible()]
    return json.dumps({"panels": panels}, separators=(",", ":"), allow_nan=False) + "\n"


def _panel(axes: Axes, known: Sequence[tuple[str, Line2D]], figure: Figure) -> dict[str, Any]:
    title = axes.get_title(loc="left") or axes.get_title()
    drawn = (each for each in axes.containers if isinstance(each, BarContainer) and each.patches)
    bars = [_bars(container) for container in drawn]
    bars += [_steps(patch) for patch in axes.patches if isinstance(patch, StepPatch)]
    cells = [_mesh(each) for each in axes.collections if isinstance(each, QuadMesh)]
    contours = [_contour(each, known) for each in axes.collections if isinstance(each, ContourSet)]
    more = {"equal": axes.get_aspect() == 1.0, "cells": cells, "contours": contours}
    return {
        "title": ", ".join(_plain(line.rstrip(",")) for line in title.splitlines()),
        "x": _axis(axes.xaxis, axes.get_xlim(), figure.get_supxlabel()),
        "y": _axis(axes.yaxis, axes.get_ylim(), figure.get_supylabel()),
        "series": _series(axes, known),
        "bars": bars,
        "notes": [
            {"x": _number(text.get_position()[0]), "y": _number(text.get_position()[1]), "text": said}
            for text in axes.texts
            if text.get_transform() == axes.transData and (said := _plain(text.get_text()))
        ],
        **{key: value for key, value in more.items() if value},
    }


def _axis(axis: Axis, limits: tuple[float, float], shared: str) -> dict[str, Any]:
    low, high = sorted(limits)
    texts = [label.get_text() for label in axis.get_ticklabels()]
    ticks = [
        (_number(place), _plain(text))
        for place, text in zip(axis.get_majorticklocs(), texts, strict=False)
        if low <= place <= high and text
    ]
    return {
        "label": "\n".join(map(_plain, (axis.get_label_text() or shared).splitlines())),
        "scale": axis.get_scale(),
        "range": [_number(end) for end in limits],
        "ticks": ticks,
    }


def _series(axes: Axes, known: Sequence[tuple[str, Line2D]]) -> list[dict[str, Any]]:
    """Return the lines of a panel; those of one look are one series, also if each was drawn alone."""
    errorbars = [each for each in axes.containers if isinstance(each, ErrorbarContainer)]
    caps = {id(cap) for each in errorbars for cap in each.lines[1]}
    intervals = {id(each.lines[0]): each.lines[2][0] for each in errorbars if each.lines[2]}
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in axes.lines:
        if id(line) in caps or not (points := list(_points(axes, line))):
            continue
        ends = _ends(intervals.get(id(line)), len(points))
        entry = {"name": _name(line, known), **_look(line), "x": [], "y": [], "low": [], "high": []}
        entry = found.setdefault((*_look(line).values(), entry["name"], bool(ends)), entry)
        if entry["x"] and "lines" in entry["mode"]:
            for column in ("x", "y", *(("low", "high") if ends else ())):
                entry[column].append(None)
        entry["x"] += [x for x, _ in points]
        entry["y"] += [y for _, y in points]
        entry["low"] += [low for low, _ in ends]
        entry["high"] += [high for _, high in ends]
    return list(found.values())


def _points(axes: Axes, line: Line2D) -> Iterator[tuple[float | None, float | None]]:
    """Yield the points of a line in the units of its axes; a line across the panel ends at its limits."""
    xs, ys = (np.asarray(values, dtype=float) for values in line.get_data())
    if line.get_transform() == axes.get_xaxis_transform(which="grid"):
        ys = np.interp(ys, (0, 1), axes.get_ylim())
    elif line.get_transform() == axes.get_yaxis_transform(which="grid"):
        xs = np.interp(xs, (0, 1), axes.get_xlim())
    elif line.get_transform() != axes.transData:
        return
    if line.get_drawstyle() == "steps-post":
        xs, ys = np.repeat(xs, 2)[1:], np.repeat(ys, 2)[:-1]
    for x, y in zip(xs, ys, strict=True):
        yield _number(x), _number(y)


def _ends(bars: LineCollection | None, count: int) -> list[tuple[float | None, float | None]]:
    """Return the ends of the vertical intervals of an error bar plot; empty if there are none."""
    segments = bars.get_segments() if bars is not None else []
    if len(segments) != count:
        return []
    return [(_number(segment[0][1]), _number(segment[-1][1])) for segment in segments]


def _look(line: Line2D) -> dict[str, Any]:
    marker, style = line.get_marker(), line.get_linestyle()
    marked, drawn = marker not in _ABSENT, style not in _ABSENT
    face = line.get_markerfacecolor()
    return {
        "mode": "+".join(["lines"] * drawn + ["markers"] * marked) or "none",
        "colour": to_hex(line.get_markeredgecolor() if marked and not drawn else line.get_color()),
        "marker": str(marker) if marked else "",
        "line": style if isinstance(style, str) and drawn else "",
        "hollow": marked and (str(face) in _ABSENT or to_hex(face) == "#ffffff"),
        "opacity": 1.0 if (alpha := line.get_alpha()) is None else float(alpha),
    }


def _name(line: Line2D, known: Sequence[tuple[str, Line2D]]) -> str:
    """Return the text of the legend's entry with the look of a line, or of its nearest look; "" if none."""
    look = _look(line)
    own = str(line.get_label())
    if own == GUIDE:
        return ""
    if not own.startswith("_") and (said := _plain(own)):
        return said
    for keys in (("colour", "marker", "line", "hollow"), ("colour", "marker", "hollow"), ("colour", "line")):
        if not any(look[key] for key in keys[1:3]):
            continue
        alike = [text for text, handle in known if all(_look(handle)[key] == look[key] for key in keys)]
        if len(alike) == 1:
            return _plain(alike[0])
    # A legend shows lines across a row or a column by a short mark.
    marks = [text for text, handle in known if _look(handle)["marker"] in ("|", "_")]
    if not look["marker"] and len(marks) == 1 and _look(dict(known)[marks[0]])["colour"] == look["colour"]:
        return _plain(marks[0])
    return ""


def _bars(container: BarContainer) -> dict[str, Any]:
    patches = container.patches
    left, width, height = zip(*((p.get_x(), p.get_width(), p.get_height()) for p in patches), strict=True)
    return _histogram(left, width, height, patches[0].get_facecolor())


def _steps(patch: StepPatch) -> dict[str, Any]:
    values, edges, _ = patch.get_data()
    return _histogram(edges[:-1], np.diff(edges), values, patch.get_edgecolor())


def _histogram(left: Any, width: Any, height: Any, colour: Any) -> dict[str, Any]:
    numbers = {"left": left, "width": width, "height": height}
    shown = {key: [*map(_number, values)] for key, values in numbers.items()}
    return {"name": "", **shown, "colour": to_hex(colour)}


def _mesh(mesh: QuadMesh) -> dict[str, Any]:
    """Return the cells with a value."""
    corners = np.asarray(mesh.get_coordinates())
    values: Any = mesh.get_array()
    low, high = corners[:-1, :-1], corners[1:, 1:]
    centres, sizes = (low + high) / 2, abs(high - low)
    filled = np.ma.filled(np.ma.masked_invalid(values), np.nan).reshape(centres.shape[:2])
    there = np.isfinite(filled)
    columns = {"x": centres[there, 0], "y": centres[there, 1], "value": filled[there]}
    columns |= {"width": sizes[there, 0], "height": sizes[there, 1]}
    colours = [to_hex(colour) for colour in mesh.to_rgba(filled[there])]
    return {**{key: [*map(_number, column)] for key, column in columns.items()}, "colour": colours}


def _contour(drawn: ContourSet, known: Sequence[tuple[str, Line2D]]) -> dict[str, Any]:
    """Return the curves of all levels; they have one look."""
    styles: Any = drawn.get_linestyle()
    colours: Any = drawn.get_edgecolor()
    look = {"colour": to_hex(colours[0]), "line": "--" if styles[0][1] else "-"}
    columns: dict[str, list[float | None]] = {"x": [], "y": []}
    pixels = drawn.axes.transData
    for path in drawn.get_paths():
        thin = path.transformed(pixels).cleaned(simplify=True).transformed(pixels.inverted())
        for curve in thin.to_polygons(closed_only=False):
            for column, numbers in zip(columns.values(), np.transpose(curve), strict=True):
                column += [None] * bool(column) + [*map(_number, numbers)]
    alike = [text for text, handle in known if all(_look(handle)[key] == look[key] for key in look)]
    return {"name": _plain(alike[0]) if len(alike) == 1 else "", **look, **columns}


def _number(value: Any) -> float | None:
    """Return a number for JSON: nine digits, None if it is not finite."""
    return float(f"{float(value):.9g}") if np.isfinite(value) else None


def _plain(text: str) -> str:
    """Return a text without mathematical markup: ``$n^{1.08}$`` becomes n^1.08."""
    text = _MATHEMATICS.sub(lambda found: _symbols(found[1]), text)
    return " ".join(text.split())


def _symbols(formula: str) -> str:
    words: Iterable[tuple[str, str]] = (
        (r"\mathdefault", ""),
        (r"^{*}", "*"),
        (r"\cdot", "·"),
        (r"\pm", "±"),
        (r"\eta", "η"),
        (r"\alpha", "α"),
        (r"\beta", "β"),
        (r"\gamma", "γ"),
        (r"\varepsilon", "ε"),
        (r"\mu", "μ"),
        (r"\sqrt", "√"),
        (r"\tilde g", "g\N{COMBINING TILDE}"),
        (r"\,", " "),
        ("{", ""),
        ("}", ""),
        *((f"_{digit}", below) for digit, below in zip("123", "₁₂₃", strict=True)),
    )
    for old, new in words:
        formula = formula.replace(old, new)
    return formula
