"""Statistics of a run over pairs: bytes moved, and step lengths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from svmrepro.solvers.caches.feature_columns import form
from svmrepro.solvers.decomposition._pair_state import PairState

if TYPE_CHECKING:
    from svmrepro.solvers.decomposition.second_order import SecondOrderRun

_ENTRY_BYTES = {
    "bit columns": 1 / 8,
    "columns": 8,
    "levels": 1,
    "bits": 8,
    "index": 4,
    "csr": 12,
    "precomputed": 8,
}  # of a stored entry


def bytes_moved(run: SecondOrderRun) -> int:
    """Return the bytes that the run reads and writes, without processor caches.

    Selecting the partner reads G, K_ii, a row and a status for each active example; of distances, the screen
    and the row. The gradient update reads G, two rows and the status, and writes G, and the screen. Computing
    a row reads stored entries of examples and writes the row.
    """
    counts = run.cache.counts
    entry = 4 if run.panel.tiles.singles.size else _ENTRY_BYTES[form(run.problem)]
    row = new_entry = run.cache.rows.itemsize
    step = (2 * 8 + row + 1) + (2 * 8 + 2 * row + 1)
    if run.state.screen.low.size:  # distances
        row = new_entry = 1
        step = (4 + 1) + (2 * 8 + 2 * 1 + 1 + 4)
    elif run.cache.packed.shape[0]:  # widened for each step
        new_entry = run.cache.packed.itemsize
        step += 2 * (new_entry + row)
    fixed_step = (4 + row + 1) + (2 * 4 + 2 * row + 1)
    scalars = run.state.scalars
    fixed, entries = int(scalars.fixed_updates), new_entry * counts.entries
    steps = fixed_step * fixed + step * (int(scalars.updates) - fixed)
    return int(steps + entry * counts.touched + entries)


def lengths(state: PairState) -> dict[str, Any]:
    """Return the histograms of step lengths, of unplanned and of planned steps, and the least double gain."""
    if not state.lengths.size:
        return {}
    plain, planned = state.lengths.tolist()
    found = {"plain_lengths": plain, "planned_lengths": planned}
    least = float(state.scalars.least_double_gain)
    return {**found, "least_double_gain": least} if math.isfinite(least) else found
