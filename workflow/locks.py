"""Locks between runs (`graph.plan`) and between the steps of a run; failures are reported in one line.

The locks themselves are those of `svmrepro.datasets.locks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from svmrepro.workflow.errors import writing

if TYPE_CHECKING:
    from svmrepro.datasets.locks import Waiting


def lock(path: Path, waiting: Waiting | None = None) -> AbstractContextManager[int]:
    """Hold a lock file, see `svmrepro.datasets.locks.hold_one`; raises a StepError if it cannot."""
    return _held([path], path, waiting)


@contextmanager
def any_lock(folder: Path, slots: int, waiting: Waiting | None = None) -> Iterator[int]:
    """Hold one of ``slots`` lock files in a folder, which admits that many processes; yield its number.

    A process with a single slot is alone, also among processes that have more.
    """
    files = [folder / f"slot-{slot}.lock" for slot in range(slots)]
    alone = _held([folder / "alone.lock"], folder, waiting, shared=slots > 1)
    with alone, _held(files, folder, waiting) as slot:
        yield slot


@contextmanager
def _held(files: list[Path], named: Path, waiting: Waiting | None, *, shared: bool = False) -> Iterator[int]:
    # Imported late: the package imports NumPy, and steps must set the number of threads first.
    from svmrepro.datasets.locks import hold_one

    with ExitStack() as stack:
        with writing(named):
            place = stack.enter_context(hold_one(files, waiting, shared=shared))
        yield place
