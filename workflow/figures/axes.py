"""Axes of the figures: logarithmic ones with round tick labels, labels of panels, arrows at the limits."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from svmrepro.workflow.figures.drawn_data import GUIDE


def loglog_axes(axes: Axes, sizes: list[int], *, every: bool = True) -> None:
    """Make both axes logarithmic, with round tick labels; the horizontal one covers ``sizes``, with a margin.

    The horizontal axis is labelled at 1, 2 and 5 times each power of ten; without ``every``, at powers of ten
    if it has two.
    """
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = min(sizes) / 1.25, max(sizes) * 1.25
    axes.set_xlim(low, high)
    ticks = [
        step * 10**power for power in range(1, 8) for step in (1, 2, 5) if low <= step * 10**power <= high
    ]
    powers = [tick for tick in ticks if math.log10(tick).is_integer()]
    if not every and len(powers) > 1:
        ticks = powers
    if not ticks:
        ticks = sorted({min(sizes), max(sizes)})
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda n, _: f"{n:.0f}" if n < 1000 else f"{n / 1000:g}k")  # 500, 2k, 50k
    )
    axes.yaxis.set_major_locator(LogLocator(base=10, numticks=7))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    axes.grid(True)


def powers_of_ten(axis: Axis) -> None:
    """Label a logarithmic axis at powers of ten, as powers if they are long; if few, also at 2 and 5."""
    low, high = axis.get_view_interval()
    few = high / low < 20
    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=8))
    axis.set_minor_locator(NullLocator())

    def shown(value: float, _: object) -> str:
        # All numbers of an axis use one notation, in all panels that share it.
        low, high = axis.get_view_interval()
        return _power(value) if high >= 2e4 or low < 5e-4 else _plain(value)

    axis.set_major_formatter(FuncFormatter(shown))


def outer_labels(panels: npt.NDArray[Any], used: int) -> None:
    """Hide the panels after the first `used` ones; label only the left and bottom axes of these."""
    columns = panels.shape[1]
    for place, axes in enumerate(panels.flat):
        axes.set_visible(place < used)
        lowest = place + columns >= used  # no panel below it
        axes.tick_params(labelleft=place % columns == 0, labelbottom=lowest)


def off_axis(axes: Axes, y: float, interval: tuple[float, float], colour: str) -> None:
    """Draw arrows where a horizontal interval extends beyond the limits of the axes, which must be final."""
    low, high = axes.get_xlim()
    for end, outside, marker in ((low, interval[0] < low, "<"), (high, interval[1] > high, ">")):
        if outside:
            # An arrow is no estimate, even if a contender's marker looks like it.
            look: dict[str, Any] = {"marker": marker, "color": colour, "markersize": 3.5, "label": GUIDE}
            axes.plot(end, y, clip_on=False, zorder=4, **look)


def _power(value: float) -> str:
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = round(value / 10.0**exponent)
    return f"$10^{{{exponent}}}$" if digit == 1 else f"${digit} \\cdot 10^{{{exponent}}}$"


def _plain(value: float) -> str:
    """Format a power of ten without an exponent if that is short: 0.001, 10, 10,000."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
