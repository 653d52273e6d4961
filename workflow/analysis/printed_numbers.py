"""The papers' printed numbers, read from ``config/papers/<paper>_<table>.csv``.

A file has the column ``experiment``, the column ``n`` (the paper's size) unless it is about whole
experiments, and one column per number. A contender's number is named ``<contender>_<quantity>``, with
underscores for dashes (``smo_seconds``, ``chunking_exponent``). ``nonbound_support_vectors`` and
``bound_support_vectors`` are properties of the problem. An empty cell is the paper's "N/A". Numbers are
copied as printed; nothing is computed here (`svmrepro.workflow.analysis.fits` refits seconds).

These files have a meaning of their own: ``timings`` (seconds and support vectors by size), ``scaling``
(printed exponents) and ``sparse_vs_dense`` (``<contender>_sparse_seconds``, ``<contender>_dense_seconds``). A
paper without such a table has no such file. ``aliases`` says where the numbers of an experiment's contender
are printed under other names: a column for each contender, with cells ``<experiment>/<contender>``.
``optima`` has the values of a parameter, such as ``C_total``, that the paper found best with n examples.
``facts`` lists words as ``fact,value``: ``machine`` is the computer on which the paper's seconds were
measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from svmrepro.workflow.result_files import field_types
from svmrepro.workflow.result_files.field_types import FieldType, Kind
from svmrepro.workflow.result_files.result_rows import read_rows

TIMINGS, SCALING, SPARSE, FACTS = "timings", "scaling", "sparse_vs_dense", "facts"
ALIASES, OPTIMA = "aliases", "optima"

SUPPORT_VECTOR_COLUMNS = {"nonbound": "nonbound_support_vectors", "bound": "bound_support_vectors"}
"""Columns of the paper's counts of support vectors strictly inside the box, and at C."""


@dataclass(frozen=True)
class PaperNumbers:
    """The printed numbers of one paper, whose name is the prefix of its files in ``config/papers``."""

    folder: Path
    paper: str

    def sizes(self, experiment: str, table: str = TIMINGS) -> tuple[int, ...]:
        """Return the paper's sizes of an experiment, in its order; empty if there are none."""
        return tuple(n for name, n in self._tables.get(table, {}) if name == experiment and n is not None)

    def experiments(self, table: str) -> tuple[str, ...]:
        """Return the experiments with rows in a table, in its order."""
        return tuple(dict.fromkeys(name for name, _ in self._tables.get(table, {})))

    def value(self, table: str, experiment: str, n: int | None, column: str) -> float | None:
        """Return one printed number; None if the paper has none ("N/A", or no such row, column or file)."""
        text = self.text(table, experiment, n, column)
        return float(text) if text else None

    def text(self, table: str, experiment: str, n: int | None, column: str) -> str:
        """Return one number as printed, "" if the paper has none."""
        return self._tables.get(table, {}).get((experiment, n), {}).get(column, "")

    def seconds(self, experiment: str, n: int | None, contender: str) -> float | None:
        """Return the printed seconds of a contender at the paper's size n."""
        return None if n is None else self.value(TIMINGS, experiment, n, f"{snake(contender)}_seconds")

    def alias(self, experiment: str, contender: str) -> tuple[str, str]:
        """Return the experiment and contender under which the numbers of a contender are printed."""
        name, _, label = self.text(ALIASES, experiment, None, snake(contender)).partition("/")
        return (name, label) if label else (experiment, contender)

    def seconds_ratio(self, experiment: str, n: int | None, above: str, below: str) -> float | None:
        """Return the ratio of the printed seconds of two contenders; None if either is missing."""
        top, bottom = (self.seconds(experiment, n, contender) for contender in (above, below))
        return top / bottom if top is not None and bottom else None

    def prints_seconds_of(self, experiment: str, contender: str) -> bool:
        """Whether the timing table has a column for the contender (whose cells may be N/A)."""
        rows = (row for (name, _), row in self._tables.get(TIMINGS, {}).items() if name == experiment)
        return any(f"{snake(contender)}_seconds" in row for row in rows)

    def support_vectors(self, experiment: str, n: int | None, which: str) -> int | None:
        """Return the printed number of "nonbound" or "bound" support vectors at the paper's size n."""
        if n is None:
            return None
        value = self.value(TIMINGS, experiment, n, SUPPORT_VECTOR_COLUMNS[which])
        return None if value is None else int(value)

    def series(self, experiment: str, contender: str) -> dict[int, list[float]]:
        """Return the printed seconds by size, without N/A rows, in the form for `power_law.fit_power_law`."""
        found = {n: self.seconds(experiment, n, contender) for n in self.sizes(experiment)}
        return {n: [value] for n, value in found.items() if value is not None}

    def optimum(self, experiment: str, parameter: str) -> tuple[int, float] | None:
        """Return the paper's size and best value of a parameter, on the set that an experiment varies."""
        for name, n in self._tables.get(OPTIMA, {}):
            best = self.value(OPTIMA, name, n, parameter)
            if n is not None and best is not None and f"{experiment}-".startswith(f"{name}-"):
                return n, best
        return None

    def exponent(self, experiment: str, contender: str) -> float | None:
        """Return the printed scaling exponent."""
        return self.value(SCALING, experiment, None, f"{snake(contender)}_exponent")

    @cached_property
    def machine(self) -> str:
        """The computer on which the paper's seconds were measured, "" if unknown."""
        path = self.folder / f"{self.paper}_{FACTS}.csv"
        if not path.is_file():
            return ""
        facts = {row["fact"]: row["value"] for row in read_rows(path, ("fact", "value"))}
        return facts.get("machine", "")

    @cached_property
    def _tables(self) -> Mapping[str, Mapping[tuple[str, int | None], Mapping[str, str]]]:
        found: dict[str, Mapping[tuple[str, int | None], Mapping[str, str]]] = {}
        for path in sorted(self.folder.glob(f"{self.paper}_*.csv")):
            name = path.stem.removeprefix(f"{self.paper}_")
            if name != FACTS:
                rows = read_rows(path, ("experiment",), _FORM)
                found[name] = {
                    (row["experiment"], int(row["n"]) if row.get("n") else None): row for row in rows
                }
        return found


def snake(contender: str) -> str:
    """Return a contender's label as spelled in the files: smo-bits -> smo_bits."""
    return contender.replace("-", "_")


def _kind(column: str) -> Kind | None:
    if column == "n":
        return field_types.optional(field_types.size)
    numeric = column.endswith(("_seconds", "_iterations", "_exponent", "_vectors", "_percent"))
    numeric |= column in ("C", "C_total", "eps", "gamma")
    return field_types.optional(field_types.number) if numeric else None


_FORM = FieldType(_kind, ("experiment", "n"))
