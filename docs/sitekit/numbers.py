"""Numbers of texts, read from the tables and raw measurements of the reference runs and from the papers' own.

The texts never store a number: they name its table, row and column. A number that is not there is an error.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from svmrepro.workflow.analysis.results import short_commit
from svmrepro.workflow.judgement.claims import VERDICTS
from svmrepro.workflow.judgement.quantities import needs_clock

from sitekit.site_links import TextError


class Run(NamedTuple):
    """Where and when a reference run was measured, as the line below its tables says."""

    date: str
    machine: str
    commit: str
    measurements: int
    flagged: int


class Numbers:
    """
    The numbers of the reference runs and of the papers.

    Parameters
    ----------
    root
        The repository.

    Attributes
    ----------
    read : set of Path
        The files that were asked for.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.read: set[Path] = set()
        self._table = cache(self._read_table)
        self._parquet = cache(self._read_parquet)

    def functions(self) -> dict[str, Any]:
        """Return what templates may call, by name."""
        return {
            "cell": self.cell,
            "column": self.column,
            "entries": self.entries,
            "printed": self.printed,
            "printed_column": self.printed_column,
            "extent": self.extent,
            "runs": self.runs,
            "grid": self.grid,
            "claim": self.claim,
            "deciding": deciding,
            "tally": self.tally,
            "revised": self.revised,
            "clocked": self.clocked,
            "bent": self.bent,
            "run_of": self.run_of,
            "scale_of": self.scale_of,
        }

    def cell(self, table: str, column: str, **where: object) -> float | str:
        """
        Return one entry of a table of a reference run.

        Parameters
        ----------
        table
            ``scale/paper/name``.
        column
            The column's name in the CSV file.
        **where
            Column and entry, such as ``n=1605``, which together fit one row.

        Raises
        ------
        TextError
            If there is no such table, column, row or number, or several rows fit.
        """
        return self._entry(self._root / "results" / "reference" / f"{table}.csv", column, where)

    def printed(self, table: str, column: str, **where: object) -> float | str:
        """Return one entry of ``config/papers``: what a paper prints. Arguments as in :meth:`cell`."""
        return self._entry(self._root / "config" / "papers" / f"{table}.csv", column, where)

    def column(self, table: str, column: str, **where: object) -> pd.Series:
        """Return the numbers in a column of a reference run's table, of the rows that fit, if any."""
        entries = pd.Series(self.entries(table, column, **where), dtype=str)
        numbers = pd.to_numeric(entries, errors="coerce").dropna()
        if numbers.empty:
            raise TextError(f"{table}.csv has no number in {column!r} where {where}")
        return numbers

    def entries(self, table: str, column: str, **where: object) -> list[str]:
        """Return a column of a reference run's table as it stands there, of the rows that fit, if any."""
        return self._entries(self._root / "results" / "reference" / f"{table}.csv", column, where)

    def printed_column(self, table: str, column: str) -> list[str]:
        """Return a column of ``config/papers``, as it stands there."""
        return self._entries(self._root / "config" / "papers" / f"{table}.csv", column, {})

    def extent(self, name: str) -> str:
        """Return the smallest and the largest value that a claim, ``scale/paper/id``, found."""
        paper, _, claim = name.rpartition("/")
        findings = [
            each for judged in self._judged(paper) if judged["id"] == claim for each in judged["findings"]
        ]
        values = [each["value"] for each in findings if each["value"] is not None]
        if not values:
            raise TextError(f"the claim {name} has no findings")
        return f"{min(values):.3g} to {max(values):.3g}"

    def runs(self, paper: str, query: str | None = None) -> pd.DataFrame:
        """
        Return the raw measurements of a reference run.

        Parameters
        ----------
        paper
            ``scale/paper``.
        query
            A condition on their columns, as `pandas.DataFrame.query` takes it.

        Raises
        ------
        TextError
            If no measurement fits.
        """
        found = self._parquet(paper)
        found = found if query is None else found.query(query)
        if found.empty:
            raise TextError(f"{paper} has no measurements where {query}")
        return found

    def grid(self, paper: str, experiment: str, contender: str) -> pd.DataFrame:
        """
        Return the problems of a grid of C and gamma, the medians over a contender's runs.

        Parameters
        ----------
        paper
            ``scale/paper``.

        Returns
        -------
        pandas.DataFrame
            Its index is gamma and C, its columns are `cpu_seconds` and `iterations`.
        """
        runs = self.runs(paper, f"experiment == '{experiment}' and contender == '{contender}'")
        solved = [pd.DataFrame(json.loads(cells)) for cells in runs["info.cells"].dropna()]
        if not solved:
            raise TextError(f"{paper}: {contender} was not run on {experiment}")
        return pd.concat(solved).groupby(["gamma", "C"])[["cpu_seconds", "iterations"]].median()

    def claim(self, name: str) -> pd.Series:
        """Return the verdict on a claim, ``scale/paper/id``: `verdict`, `measured`, `on_paper`, ..."""
        table, _, claim = name.rpartition("/")
        return self._one(self._root / "results" / "reference" / table / "claims.csv", {"id": claim})

    def quantities(self, paper: str) -> dict[str, dict[str, Any]]:
        """Return the quantity that each claim of ``scale/paper`` is judged by."""
        return {claim["id"]: claim["quantity"] for claim in self._judged(paper)}

    def tally(self, paper: str, kind: str | None = None) -> dict[str, int]:
        """Return how many counted claims of ``scale/paper``, of one kind or all, have each verdict."""
        rows = self._rows(self._root / "results" / "reference" / paper / "claims.csv", {})
        rows = rows[rows.counted != "no"]
        if kind is not None:
            rows = rows[rows.kind == kind]
        return {"all": len(rows), **{name: int((rows.verdict == name).sum()) for name in VERDICTS}}

    def revised(self, paper: str) -> pd.DataFrame:
        """Return the claims of ``scale/paper`` whose rules were revised, with `earlier_rule` and more."""
        rows = self._rows(self._root / "results" / "reference" / paper / "claims.csv", {})
        return rows[rows.earlier_rule != ""].set_index("id")

    def clocked(self, paper: str) -> pd.DataFrame:
        """Return the `verdict` of each counted claim of ``scale/paper``, and whether seconds decide it."""
        rows = self._rows(self._root / "results" / "reference" / paper / "claims.csv", {})
        timed = {claim["id"] for claim in self._judged(paper) if needs_clock(claim["quantity"])}
        return rows[rows.counted != "no"].assign(clocked=lambda found: found.id.isin(timed))

    def bent(self, paper: str, kind: str) -> int:
        """Return how many counted claims of one kind are undecided only because points lie on no line."""
        rows = self._rows(self._root / "results" / "reference" / paper / "claims.csv", {"kind": kind})
        bent = {claim["id"] for claim in self._judged(paper) if claim["by_noise"]}
        return int(((rows.counted != "no") & rows.id.isin(bent)).sum())

    def run_of(self, paper: str) -> Run:
        """Return where and when the reference run ``scale/paper`` was measured."""
        runs = self.runs(paper, "cpu_seconds.notna()")
        return Run(
            runs["time"].max()[:10],
            " and ".join(runs["machine.cpu"].value_counts().index),
            ", ".join(sorted(set(map(short_commit, runs["machine.commit"].dropna())))),
            len(runs),
            int(runs["flagged"].sum()),
        )

    def scale_of(self, paper: str) -> str:
        """Return the largest scale at which a paper has a reference run."""
        for scale in ("paper", "default"):
            if (self._root / "results" / "reference" / scale / paper / "claims.csv").is_file():
                return scale
        raise TextError(f"there is no reference run of {paper}")

    # -- reading ------------------------------------------------------------------------------------

    def _entry(self, path: Path, column: str, where: dict[str, object]) -> float | str:
        row = self._one(path, where)
        if column not in row:
            raise TextError(f"{path.name} has no column {column!r}")
        if not row[column]:
            raise TextError(f"{path.name} has nothing in {column!r} where {where}")
        try:
            return float(row[column])
        except ValueError:
            return str(row[column])

    def _entries(self, path: Path, column: str, where: dict[str, object]) -> list[str]:
        rows = self._rows(path, where)
        if column not in rows:
            raise TextError(f"{path.name} has no column {column!r}")
        return list(rows[column])

    def _one(self, path: Path, where: dict[str, object]) -> pd.Series:
        rows = self._rows(path, where)
        if len(rows) != 1:
            raise TextError(f"{path.name} has {len(rows)} rows where {where}, not one")
        return rows.iloc[0]

    def _rows(self, path: Path, where: dict[str, object]) -> pd.DataFrame:
        rows = self._table(path)
        for column, entry in where.items():
            if column not in rows:
                raise TextError(f"{path.name} has no column {column!r}")
            rows = rows[rows[column] == str(entry)]
        return rows

    def _judged(self, paper: str) -> list[dict[str, Any]]:
        """Return the claims of a reference run as numbers, with their findings."""
        path = self._file(self._root / "results" / "reference" / paper / "claims.json")
        claims: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["claims"]
        return claims

    def _read_table(self, path: Path) -> pd.DataFrame:
        # As objects, of which pandas selects rows faster than of its strings.
        return pd.read_csv(self._file(path), dtype=object, keep_default_na=False)

    def _read_parquet(self, paper: str) -> pd.DataFrame:
        return pd.read_parquet(
            self._file(self._root / "results" / "reference" / paper / "measurements.parquet")
        )

    def _file(self, path: Path) -> Path:
        """Note that a file is read; one that is not there is a TextError."""
        if not path.is_file():
            raise TextError(f"there is no {path.relative_to(self._root)}")
        self.read.add(path)
        return path


# -- as words -----------------------------------------------------------------------------------------


def fixed(number: float, digits: int = 2) -> str:
    """Return a number with a fixed number of decimals."""
    text = f"{_finite(number):,.{digits}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.,") else text


def rounded(number: float, digits: int = 2) -> str:
    """Return a number to a few significant digits, never in powers of ten."""
    if not _finite(number):
        return "0"
    number = float(f"{number:.{digits - 1}e}")
    return fixed(number, max(digits - 1 - math.floor(math.log10(abs(number))), 0))


def whole(number: float) -> str:
    """Return a whole number, with commas for thousands."""
    return fixed(number, 0)


def percent(share: float, digits: int = 0) -> str:
    """Return a share as a percentage."""
    return f"{fixed(100 * share, digits)} %"


def spread(numbers: pd.Series, digits: int = 2) -> str:
    """Return the smallest and the largest of some numbers, to a few significant digits."""
    low, high = rounded(numbers.min(), digits), rounded(numbers.max(), digits)
    return low if low == high else f"{low} to {high}"


_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
WIDTH = 110


def filled(text: str) -> str:
    """Return Markdown with its paragraphs and list items, not tables and code, filled to one width."""
    parts = _FENCE.split(text)
    for place in range(0, len(parts), 2):
        blocks = re.split(r"(\n{2,})", parts[place])
        parts[place] = "".join(_filled_block(block) for block in blocks)
    return "".join(parts)


def _filled_block(block: str) -> str:
    if mark := re.match(r"- |\d\. ", block):
        items = re.split(r"\n(?=- |\d\. )", block)
        return "\n".join(_wrapped(item, hanging=" " * len(mark[0])) for item in items)
    return block if not block.strip() or re.match(r"[|#!><{]|```|\d+\. |---", block) else _wrapped(block)


def _wrapped(text: str, hanging: str = "") -> str:
    ending = text[len(text.rstrip("\n")) :]
    words = " ".join(text.split()).replace(" %", "\0%")  # no line begins with a unit, and code stays whole
    words = words.replace(" - ", "\0- ")  # a line that begins with a minus would be a list item
    words = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), words)
    lines = textwrap.wrap(
        words, WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\0", " ") + ending


def deciding(measured: str) -> str:
    """Return the part of a claim's `measured` that decided: the only value, the worst one, or the range."""
    parts = re.split(r"; (?![^(]*\))", measured)  # not within parentheses
    for start in ("worst: ", "farthest off: ", "such as ", "range "):
        for part in parts:
            if part.startswith(start):
                return f"{parts[0]}; {part}"
    return parts[0]


def titled(paper: str) -> str:
    """Return a paper's short title, such as ``Platt 1998`` of ``platt1998``."""
    return re.sub(r"(\d+)", r" \1", paper).capitalize()


FILTERS = {
    "fixed": fixed,
    "rounded": rounded,
    "whole": whole,
    "percent": percent,
    "spread": spread,
    "titled": titled,
}


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise TextError(f"{number} cannot be shown in a text")
    return float(number)
