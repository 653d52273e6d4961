"""UCI's census files (adult.data, adult.test) and their encoding as 123 binary attributes.

Platt (1998, section 3.1) encodes the 14 attributes of the census form, eight categorical and six continuous
ones "discretized into quintiles", as 123 binary attributes. The paper does not say how it treats tied values.
The rule below was inferred from the published encoded file, LIBSVM's a9a, and reproduces it bit for bit: all
32,561 rows, and the 16,281 rows of the test part.

- The columns follow the order of the attributes in the file and, within a categorical attribute, the order
  in which the set's documentation (adult.names) lists the values. A missing value (``?``) sets no bit.
- A continuous attribute is cut at its quintiles over adult.data: the k-th is the value at position
  k (n - 1) / 5, rounded down, of the sorted column. Bins are closed below: [edge, next edge).
- **Ties.** Bins are formed in ascending order. If a quintile equals the lower end of the current bin, the bin
  would be empty; instead the tied value gets its own bin, which ends before the next larger value. A quintile
  below the lower end of the current bin adds no edge. So education-num (quintiles 9, 9, 10, 13) becomes <9,
  9, 10, 11-12, >=13; hours-per-week (35, 40, 40, 48) becomes <35, 35-39, 40, 41-47, >=48; capital-gain and
  capital-loss, zero in more than four fifths of the rows, get two bins each, zero and positive. Therefore the
  six continuous attributes take 24 columns, not 30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from svmrepro.datasets.dataset import FloatArray, sorted_csr
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers._parsing import refuse_one_class

# Order and spelling of adult.names.
_ATTRIBUTES: Final = """
    age:;
    workclass: Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked;
    fnlwgt:;
    education: Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters
        1st-4th 10th Doctorate 5th-6th Preschool;
    education-num:;
    marital-status: Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent
        Married-AF-spouse;
    occupation: Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners
        Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv
        Armed-Forces;
    relationship: Wife Own-child Husband Not-in-family Other-relative Unmarried;
    race: White Asian-Pac-Islander Amer-Indian-Eskimo Other Black;
    sex: Female Male;
    capital-gain:;
    capital-loss:;
    hours-per-week:;
    native-country: United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India
        Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal
        Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua
        Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands
"""
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    name.strip(): tuple(values.split())
    for name, _, values in (entry.partition(":") for entry in _ATTRIBUTES.split(";"))
}
"""Attribute -> its values; none for a continuous one."""
CONTINUOUS: Final = tuple(name for name, values in VALUES.items() if not values)
MISSING: Final = -1
_LABELS: Final = {"<=50K": -1.0, ">50K": 1.0}

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AdultRecords:
    """The n rows of a census file."""

    # Attribute -> its n values; for a categorical one, indices into its VALUES, or MISSING for "?".
    columns: Mapping[str, IntArray]
    y: FloatArray  # +1 for an income above 50,000 dollars, else -1


def read_adult(path: str | Path) -> AdultRecords:
    """Read adult.data or adult.test; a fault raises a DataError, ``file:line: what``.

    Empty lines, lines that begin with ``|`` and the full stop after the labels of adult.test are ignored.
    """
    codes = {
        name: {"?": MISSING, **{value: code for code, value in enumerate(values)}}
        for name, values in VALUES.items()
        if values
    }
    rows: list[list[int]] = []
    labels: list[float] = []
    with Path(path).open(encoding="utf-8", errors="replace") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip() or line.startswith("|"):
                continue
            try:
                row, label = _parse_row(line, codes)
            except ValueError as error:
                raise DataError(f"{path}:{number}: {error}") from None
            rows.append(row)
            labels.append(label)
    if not rows:
        raise DataError(f"{path}:1: the file is empty")
    y = np.array(labels)
    refuse_one_class(y, f"{path}:1", f"sign {y[0]:+g}")
    table = np.array(rows, dtype=np.int64)
    return AdultRecords({name: table[:, i].copy() for i, name in enumerate(VALUES)}, y)


def _parse_row(line: str, codes: Mapping[str, Mapping[str, int]]) -> tuple[list[int], float]:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != len(VALUES) + 1:
        raise ValueError(f"{len(fields)} fields where {len(VALUES) + 1} were expected")
    label = fields[-1].removesuffix(".")
    if label not in _LABELS:
        raise ValueError(f"label {label[:40]!r} where <=50K or >50K was expected")
    row = []
    for name, field in zip(VALUES, fields[:-1], strict=True):
        if name in codes:
            if field not in codes[name]:
                raise ValueError(f"{name} {field[:40]!r} is not one of the known values")
            row.append(codes[name][field])
        else:
            # The values are years, dollars and hours, far below twelve digits.
            if not (field.isascii() and field.isdigit() and len(field) <= 12):
                raise ValueError(f"{name} {field[:40]!r} is not a whole number")
            row.append(int(field))
    return row, _LABELS[label]


def quintile_edges(values: IntArray) -> tuple[int, ...]:
    """Return the lower ends of all bins except the first, by the rule in the module's docstring."""
    ordered = np.sort(values)
    lower = int(ordered[0])
    edges: list[int] = []
    for k in range(1, 5):
        quintile = int(ordered[k * (len(ordered) - 1) // 5])
        if quintile < lower:
            continue
        if quintile == lower:
            after = int(np.searchsorted(ordered, quintile, side="right"))
            if after == len(ordered):
                break
            quintile = int(ordered[after])
        edges.append(quintile)
        lower = quintile
    return tuple(edges)


@dataclass(frozen=True)
class AdultEncoder:
    """The encoding of census rows as bits; ``edges`` holds the bin edges of each continuous attribute."""

    edges: Mapping[str, tuple[int, ...]]

    @classmethod
    def fit(cls, records: AdultRecords) -> AdultEncoder:
        """Return an encoder that uses the quintiles of these rows."""
        return cls({name: quintile_edges(records.columns[name]) for name in CONTINUOUS})

    def widths(self) -> dict[str, int]:
        """Return the number of columns of each attribute, in column order."""
        return {name: len(values) or len(self.edges[name]) + 1 for name, values in VALUES.items()}

    def encode(self, records: AdultRecords) -> sparse.csr_matrix:
        """Encode rows as a CSR matrix (n, 123) with a one for each attribute that is not missing."""
        codes = np.stack(
            [
                np.searchsorted(self.edges[name], column, side="right") if name in self.edges else column
                for name, column in records.columns.items()
            ],
            axis=1,
        )
        widths = np.fromiter(self.widths().values(), dtype=np.int64)
        first = np.concatenate(([0], np.cumsum(widths)[:-1]))
        known = codes != MISSING
        indices = (first + codes)[known].astype(np.int32)
        indptr = np.concatenate(([0], np.cumsum(known.sum(axis=1))))
        return sorted_csr((np.ones(len(indices)), indices, indptr), (len(codes), int(widths.sum())))


def describe_bins(edges: Sequence[int]) -> str:
    """Return the bins in words: ``<9, 9, 10, 11-12, >=13``."""
    if not edges:
        return "one bin"
    inner = [str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in pairwise(edges)]
    return ", ".join([f"<{edges[0]}", *inner, f">={edges[-1]}"])
