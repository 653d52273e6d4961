"""The errors of this package; each prints as one line."""

from __future__ import annotations

from collections.abc import Iterable


class DataError(ValueError):
    """Invalid data, or an invalid request for data.

    The message is one line; for a fault in a file it reads ``file:line: what``.
    """


class UnknownLabelError(DataError):
    """A label that is not among the expected ones."""


class OneClassError(DataError):
    """Data whose rows all have one label."""


class StorageError(DataError):
    """The data folder cannot be written: no permission, no space, a read-only file system."""


class DatasetUnavailable(Exception):
    """No source could provide a data set.

    Parameters
    ----------
    name
        The data set, followed by the file if only one file is missing (``"web (w2a)"``).
    reasons
        One entry per source tried, ``"source: why it failed"``.
    by_hand
        Where a user can put the file; its content is verified there.
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
    """One source of a file failed; the caller tries the next one."""


class UnfinishedError(SourceError):
    """A download ended early; another attempt goes on from the bytes that have arrived."""


def short_reason(error: BaseException) -> str:
    """Return the text of an error of a library, on one line and cut; if it has none, the error's type."""
    return " ".join(str(error).split())[:160] or type(error).__name__
