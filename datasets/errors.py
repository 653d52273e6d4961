"""The errors of the data floor: each prints as one clear line."""

from __future__ import annotations

from collections.abc import Iterable


class DataError(ValueError):
    """Data, or a request for data, that cannot be accepted.

    The message is one line; where a file is at fault it reads ``file:line: what``.
    """


class StorageError(DataError):
    """The data folder cannot be written: no permission, no space, a read-only file system."""


class DatasetUnavailable(Exception):
    """No source could provide a data set.

    Parameters
    ----------
    name
        The data set, with the file where only one of its files is missing (``"web (w2a)"``).
    reasons
        One entry per source tried, ``"source: why it failed"``.
    by_hand
        Where a person can put the file; it is accepted if its contents are right.
    """

    def __init__(self, name: str, reasons: Iterable[str], by_hand: str = "") -> None:
        self.name = name
        self.reasons = tuple(reasons)
        self.by_hand = by_hand
        super().__init__(name, self.reasons, by_hand)

    def __str__(self) -> str:
        tried = "; ".join(self.reasons) or "it has no source"
        hint = f"; put the file by hand at {self.by_hand}" if self.by_hand else ""
        return " ".join(f"data set {self.name} is not available: {tried}{hint}".split())


class SourceError(Exception):
    """One source of a file failed; the message says why. Caught where the next source is tried."""
