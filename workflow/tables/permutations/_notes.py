"""Notes common to the tables over permutations: sizes and samples, other load, significant differences."""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.analysis.paired_contenders import Family, PermutedProblem
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.statistics import LARGER, SIGNIFICANCE, SMALLER


def size_notes(rows: Sequence[PermutedProblem], results: Results) -> list[str]:
    """Say which problems were measured at a smaller size than the paper's, or in several samples."""
    from svmrepro import datasets

    generated: list[str] = []
    nested: list[str] = []
    for problem in rows:
        if problem.n is not None and problem.n_paper is None:
            dataset = results.experiment(problem.name).dataset
            known = dataset in datasets.names()
            (generated if known and datasets.is_generated(dataset) else nested).append(problem.title)
    notes = []
    if nested:
        notes.append(f"Measured on a subset, the first n rows of one fixed permutation: {', '.join(nested)}.")
    if generated:
        notes.append(f"Generated with a smaller n: {', '.join(generated)}.")
    measured = (problem for problem in rows if problem.n is not None)
    resampled = [each.title for each in measured if results.experiment(each.name).resample]
    if resampled:
        notes.append(
            f"Each permutation is of a sample of its own, so the intervals contain the spread of samples: "
            f"{', '.join(resampled)}."
        )
    return notes


def significance_note(what: str, compared: Family, contenders: Sequence[str]) -> str:
    """Say on how many problems the second contender has significantly less, and more; "" without a test."""
    if not compared.tested:
        return ""
    first, second = (display_name(label) for label in contenders)
    marks, held = compared.marks(), compared.marks(corrected=True)
    return (
        f"{what}, {second} against {first}: significantly less on {marks.count(LARGER)} of {compared.tested} "
        f"data sets, more on {marks.count(SMALLER)} (p < {SIGNIFICANCE:g}, uncorrected); after Holm's "
        f"correction on {held.count(LARGER)} and {held.count(SMALLER)}."
    )


def load_notes(results: Results, rows: Sequence[PermutedProblem], contenders: Sequence[str]) -> list[str]:
    """List the data sets of which all runs are flagged; empty if there are none."""
    measured = [problem for problem in rows if problem.n is not None]
    flagged = [
        problem.title
        for problem in measured
        if any(results.group(problem.name, label, problem.n).all_flagged for label in contenders)
    ]
    if not flagged:
        return []
    which = "all data sets" if len(flagged) == len(measured) else ", ".join(flagged)
    return [f"On {which} every run met other load on the machine: seconds are upper bounds."]
