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
    In a look ``line`` is "-", "--", ":", "-." or the lengths of dashes and gaps in widths of the line, such
    as "4,1.2"; ``size`` is that of a marker in points, and ``shift`` how far it stands right of its place.
    A null separates two lines.
``bars``
    Histograms: ``name``, ``left``, ``width``, ``height``, ``colour``.
``notes``
    Texts within the panel: ``x``, ``y``, ``text`` (of one or more lines), ``align`` (horizontal and vertical
    alignment) and ``shift`` (points to the right and upwards).

Some panels have more:

``aside``
    The title at the right, such as the law of a guide.
``spans``
    Bands across the panel's height: ``name``, ``left``, ``right``, ``colour``.
``equal``
    True if a unit is as long on both axes.
``cells``
    Maps: ``x`` and ``y`` of the centres of the cells that have a value, ``width``, ``height``, ``value`` and
    ``colour``.
``contours``
    Level sets: ``name``, ``x``, ``y`` with a null between two curves, and the look of a line. Points that lie
    on a straight line of the picture are left out.

Beside the panels, ``notes`` holds the lines of the legend's title, and ``legend`` those of its entries that
belong to no series, such as the one for intervals: ``name`` and look.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle, StepPatch
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Transform

_MATHEMATICS = re.compile(r"\$([^$]*)\$")
_ABSENT = ("None", "none", " ", "", None)

GUIDE = "_guide"
"""Label of a line that only leads the eye: it has no name, even if an entry of the legend looks like it."""


def to_json(figure: Figure) -> str:
    """Return the numbers of a figure as JSON; it must have been drawn before, so that its ticks are final."""
    legends = [*figure.legends, *(legend for axes in figure.axes if (legend := axes.get_legend()))]
    entries = [
        (text.get_text(), handle)
        for legend in legends
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
    ]
    panels = [_panel(axes, entries, figure) for axes in figure.axes if axes.get_visible()]
    notes = [line for legend in legends for line in _lines(legend.get_title().get_text()) if line]
    kinds = ("series", "bars", "spans", "contours")
    used = {each["name"] for panel in panels for kind in kinds for each in panel.get(kind, ())}
    others = [
        {"name": name, **_look(handle)}
        for text, handle in entries
        if isinstance(handle, Line2D) and (name := _plain(text)) and name not in used
    ]
    content = {"panels": panels, "notes": notes, "legend": others}
    return json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n"


def _panel(axes: Axes, entries: Sequence[tuple[str, Artist | None]], figure: Figure) -> dict[str, Any]:
    known = [(text, handle) for text, handle in entries if isinstance(handle, Line2D)]
    title = axes.get_title(loc="left") or axes.get_title()
    drawn = (each for each in axes.containers if isinstance(each, BarContainer) and each.patches)
    bars = [_bars(container, entries) for container in drawn]
    bars += [_steps(patch, known) for patch in axes.patches if isinstance(patch, StepPatch)]
    cells = [_mesh(each) for each in axes.collections if isinstance(each, QuadMesh)]
    contours = [_contour(each, known) for each in axes.collections if isinstance(each, ContourSet)]
    spans = [_span(each) for each in axes.patches if isinstance(each, Rectangle) and _is_span(axes, each)]
    more = {
        "aside": _plain(axes.get_title(loc="right")),
        "equal": axes.get_aspect() == 1.0,
        "spans": spans,
        "cells": cells,
        "contours": contours,
    }
    return {
        "title": ", ".join(_plain(line.rstrip(",")) for line in title.splitlines()),
        "x": _axis(axes.xaxis, axes.get_xlim(), figure.get_supxlabel()),
        "y": _axis(axes.yaxis, axes.get_ylim(), figure.get_supylabel()),
        "series": _series(axes, known),
        "bars": bars,
        "notes": [_note(axes, text) for text in axes.texts if text.get_text().strip()],
        **{key: value for key, value in more.items() if value},
    }


def _note(axes: Axes, text: Text) -> dict[str, Any]:
    """Return a text with the place in the units of the axes, also if it was given as a share of the panel."""
    shift: Any = (0, 0)
    if isinstance(text, Annotation):
        (x, y), shift = text.xy, text.xyann
    else:
        x, y = _in_data(axes, text.get_transform(), *text.get_position()) or (math.nan, math.nan)
    return {
        "x": _number(x),
        "y": _number(y),
        "text": "\n".join(_lines(text.get_text())),
        "align": [text.get_horizontalalignment(), text.get_verticalalignment()],
        "shift": [*map(_number, shift)],
    }


def _axis(axis: Axis, limits: tuple[float, float], shared: str) -> dict[str, Any]:
    # As written: on another machine, a tick at an end may be beyond it by rounding.
    low, high = sorted(map(_written, limits))
    texts = [label.get_text() for label in axis.get_ticklabels()]
    ticks = [
        (_number(place), "\n".join(_lines(text)))
        for place, text in zip(axis.get_majorticklocs(), texts, strict=False)
        if low <= _written(place) <= high and text
    ]
    return {
        "label": "\n".join(_lines(axis.get_label_text() or shared)),
        "scale": axis.get_scale(),
        "range": [_number(end) for end in limits],
        "ticks": ticks,
    }


def _series(axes: Axes, known: Sequence[tuple[str, Line2D]]) -> list[dict[str, Any]]:
    """Return the lines of a panel; lines of one look form one series, even if drawn separately."""
    errorbars = [each for each in axes.containers if isinstance(each, ErrorbarContainer)]
    caps = {id(cap) for each in errorbars for cap in each.lines[1]}
    intervals = {id(each.lines[0]): each.lines[2][0] for each in errorbars if each.lines[2]}
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    drawn = ((line, *part) for line in axes.lines for part in _parts(axes, line))
    for line, look, points in drawn:
        if id(line) in caps or not points:
            continue
        ends = _ends(intervals.get(id(line)), len(points))
        look["shift"] = _shift(axes, line.get_transform()) or 0.0
        entry = {"name": _name(line, known), **look, "x": [], "y": [], "low": [], "high": []}
        entry = found.setdefault((*look.values(), entry["name"], bool(ends)), entry)
        if entry["x"] and "lines" in entry["mode"]:
            for column in ("x", "y", *(("low", "high") if ends else ())):
                entry[column].append(None)
        entry["x"] += [x for x, _ in points]
        entry["y"] += [y for _, y in points]
        entry["low"] += [low for low, _ in ends]
        entry["high"] += [high for _, high in ends]
    return list(found.values())


def _parts(
    axes: Axes, line: Line2D
) -> Iterator[tuple[dict[str, Any], list[tuple[float | None, float | None]]]]:
    """Yield look and points of a line; where only some points have a mark, of the bare line and the marks."""
    look, points = _look(line), [*_points(axes, line)]
    marked: Any = line.get_markevery()  # places, as figures of this project give them
    if marked is None or look["mode"] != "lines+markers":
        yield look, points
        return
    yield look | {"mode": "lines", "marker": "", "size": 0.0, "hollow": False}, points
    every = 2 if line.get_drawstyle() == "steps-post" else 1
    places = np.arange(len(points))[::every][marked]
    yield look | {"mode": "markers", "line": ""}, [points[place] for place in places]


def _points(axes: Axes, line: Line2D) -> Iterator[tuple[float | None, float | None]]:
    """Yield the points of a line in the units of its axes; a line across the panel ends at its limits."""
    xs, ys = (np.asarray(values, dtype=float) for values in line.get_data())
    if (placed := _in_data(axes, line.get_transform(), xs, ys)) is None:
        return
    xs, ys = placed
    if line.get_drawstyle() == "steps-post":
        xs, ys = np.repeat(xs, 2)[1:], np.repeat(ys, 2)[:-1]
    for x, y in zip(xs, ys, strict=True):
        yield _number(x), _number(y)


def _in_data(axes: Axes, transform: Transform, xs: Any, ys: Any) -> tuple[Any, Any] | None:
    """Return points in the units of the axes; None if they are given in other units than theirs or shares."""
    xs, ys = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    if _shift(axes, transform) is not None:
        return xs, ys
    for known, across, up in (
        (axes.get_xaxis_transform(which="grid"), False, True),
        (axes.get_yaxis_transform(which="grid"), True, False),
        (axes.transAxes, True, True),
    ):
        if transform == known:
            return _of_shares(axes.xaxis, xs) if across else xs, _of_shares(axes.yaxis, ys) if up else ys
    return None


def _of_shares(axis: Axis, shares: Any) -> Any:
    """Return the places at shares of an axis, exactly at its ends."""
    low, high = axis.get_view_interval()
    scale = axis.get_transform()
    start, end = scale.transform(np.array([low, high], dtype=float))
    between = scale.inverted().transform(start + shares * (end - start))
    return np.where(shares == 0, low, np.where(shares == 1, high, between))


def _shift(axes: Axes, transform: Transform) -> float | None:
    """Return by how many points a transform shifts the units of the axes to the right.

    It is None for a transform of other units.
    """
    if transform == axes.transData:
        return 0.0
    ends = np.transpose([axes.get_xlim(), axes.get_ylim()])
    moved = transform.transform(ends) - axes.transData.transform(ends)
    figure: Any = axes.figure
    same = np.isfinite(moved).all() and np.ptp(moved, axis=0).max() < 1e-6
    return round(float(moved[0, 0]) * 72 / figure.dpi, 3) if same else None


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
        # A point is a circle of half the size.
        "size": round(line.get_markersize() * (0.5 if marker == "." else 1.0), 3) if marked else 0.0,
        "line": _dashes(vars(line)["_unscaled_dash_pattern"][1]) if drawn else "",
        "hollow": marked and (str(face) in _ABSENT or to_hex(face) == "#ffffff"),
        "opacity": 1.0 if (alpha := line.get_alpha()) is None else float(alpha),
    }


def _dashes(lengths: Sequence[float] | None) -> str:
    """Return the name of a line style, or the lengths of its dashes and gaps in line widths."""
    if not lengths:
        return "-"
    patterns = {
        "--": mpl.rcParams["lines.dashed_pattern"],
        ":": mpl.rcParams["lines.dotted_pattern"],
        "-.": mpl.rcParams["lines.dashdot_pattern"],
    }
    for sign, pattern in patterns.items():
        if np.array_equal(lengths, pattern):
            return sign
    return ",".join(f"{length:g}" for length in lengths)


def _name(line: Line2D, known: Sequence[tuple[str, Line2D]]) -> str:
    """Return the text of the legend's entry with the look of a line, or of its nearest look; "" if none.

    An entry with the same look comes first, as it may stand for many lines; then the line's own label.
    """
    look = _look(line)
    own = str(line.get_label())
    if own == GUIDE:
        return ""
    same = ("colour", "marker", "line", "hollow")
    for keys in (same, ("colour", "marker", "hollow"), ("colour", "line")):
        if keys != same and not own.startswith("_") and (said := _plain(own)):
            return said
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


def _bars(container: BarContainer, entries: Iterable[tuple[str, Artist | None]]) -> dict[str, Any]:
    patches = container.patches
    left, width, height = zip(*((p.get_x(), p.get_width(), p.get_height()) for p in patches), strict=True)
    colour = to_hex(patches[0].get_facecolor())
    known = [(said, each) for said, each in entries if isinstance(each, Patch)]
    alike = [said for said, each in known if to_hex(each.get_facecolor()) == colour]
    return _histogram(alike, left, width, height, colour)


def _steps(patch: StepPatch, known: Sequence[tuple[str, Line2D]]) -> dict[str, Any]:
    values, edges, _ = patch.get_data()
    colour = to_hex(patch.get_edgecolor())
    alike = [said for said, handle in known if _look(handle)["colour"] == colour]
    return _histogram(alike, edges[:-1], np.diff(edges), values, colour)


def _histogram(names: Sequence[str], left: Any, width: Any, height: Any, colour: str) -> dict[str, Any]:
    numbers = {"left": left, "width": width, "height": height}
    shown = {key: [*map(_number, values)] for key, values in numbers.items()}
    return {"name": _plain(names[0]) if len(names) == 1 else "", **shown, "colour": colour}


def _is_span(axes: Axes, patch: Rectangle) -> bool:
    return bool(patch.get_data_transform() == axes.get_xaxis_transform(which="grid"))


def _span(patch: Rectangle) -> dict[str, Any]:
    label = str(patch.get_label())
    left, right = patch.get_x(), patch.get_x() + patch.get_width()
    colour = to_hex(patch.get_facecolor())
    name = "" if label.startswith("_") else _plain(label)
    return {"name": name, "left": _number(left), "right": _number(right), "colour": colour}


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
    widths: Any = drawn.get_linewidth()
    # Unlike those of a line, its dashes are in points.
    dashes = [round(length / widths[0], 3) for length in styles[0][1] or ()]
    look = {"colour": to_hex(colours[0]), "line": _dashes(dashes)}
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
    return _written(value) if np.isfinite(value) else None


def _written(value: Any) -> float:
    return float(f"{float(value):.9g}")


def _lines(text: str) -> list[str]:
    return [*map(_plain, text.splitlines())]


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
        (r"\epsilon", "ε"),
        (r"\propto", "∝"),
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
