"""RCV1-v2 as published by Lewis, Yang, Rose and Li (LYRL2004): files of term weights and of topics.

Vectors
    One document per line, ``document  term:weight term:weight ...``: Reuters' document number, then term
    numbers from 1 to 47,236 in ascending order with cosine-normalised log-tf x idf weights. Column ``j``
    holds term ``j + 1``.
Topics ("qrels")
    One pair of a topic and a document per line, ``topic document 1``. Every document has at least one topic.

Reference: D. Lewis, Y. Yang, T. Rose and F. Li, RCV1: a new benchmark collection for text categorization
research, Journal of Machine Learning Research 5, 2004, appendices 8 and 13.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers._index_value_lines import LineBlock, Rows, read_blocks
from svmrepro.datasets.readers._parsing import brief, line_blocks, show

Documents = npt.NDArray[np.int64]

_LARGEST: Final = 10**9
_TOPIC: Final = re.compile(rb"([A-Z0-9]+)[ \t]+([1-9]\d{0,8})[ \t]+1[ \t]*\r?\n?")


def read_documents(
    vectors: Sequence[str | Path], topics: str | Path, *, topic: str, features: int
) -> ExampleSet:
    """Read documents from vector files, in this order, and label them by whether they have a topic.

    The topic file may contain further documents, which are ignored. Memory beyond the result is about that of
    the result's values, independent of the size of the text. A fault raises a DataError, ``file:line: what``.
    """
    every, chosen = _read_topics(topics, topic)
    rows = Rows(features)
    numbers: list[Documents] = []
    for path in vectors:
        for block in read_blocks(path, "document"):
            numbers.append(_documents(block, path, every, topics))
            rows.add(block, path)
    documents = np.concatenate(numbers)
    order = np.sort(documents)
    twice = order[1:][order[1:] == order[:-1]]
    if twice.size:
        raise DataError(f"{vectors[-1]}: document {twice[0]} is there twice, in this file or those before it")
    y = np.where(np.isin(documents, chosen), 1.0, -1.0)
    if np.all(y == y[0]):
        share = "no document has" if y[0] < 0.0 else "all documents have"
        raise DataError(f"{topics}: one class only: {share} the topic {topic}")
    return ExampleSet(X=rows.matrix(), y=y)


def count_documents(path: str | Path, features: int) -> int:
    """Return the number of documents in a vector file; raises the errors of :func:`read_documents`."""
    total = 0
    for block in read_blocks(path, "document"):
        _documents(block, path, None, path)
        Rows(features).add(block, path)
        total += len(block.head)
    return total


def count_topics(path: str | Path) -> int:
    """Return the number of documents in a topic file; raises the errors of :func:`read_documents`."""
    return len(_read_topics(path, "")[0])


def _documents(block: LineBlock, path: str | Path, known: Documents | None, topics: str | Path) -> Documents:
    """Return the document numbers of a block after checking them."""

    def refuse(bad: npt.NDArray[np.bool_], what: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(f"{path}:{block.numbers[row]}: {what.format(brief(head[row]))}")

    head = block.head
    refuse(~((head >= 1.0) & (head < _LARGEST) & (head == np.floor(head))), "{} is not a document number")
    documents: Documents = head.astype(np.int64)
    if known is not None:
        place = np.minimum(np.searchsorted(known, documents), len(known) - 1)
        refuse(known[place] != documents, f"document {{}} has no topic in {topics}")
    return documents


def _read_topics(path: str | Path, topic: str) -> tuple[Documents, Documents]:
    """Return all documents of a topic file, and those that have the given topic; both sorted."""
    every: list[Documents] = []
    chosen: list[int] = []
    for first, lines in line_blocks(path):
        documents: list[int] = []
        for number, line in enumerate(lines, start=first):
            match = _TOPIC.fullmatch(line)
            if match is None:
                raise DataError(
                    f"{path}:{number}: {show(line.strip())} where 'topic document 1' was expected"
                )
            documents.append(int(match[2]))
            if match[1] == topic.encode():
                chosen.append(documents[-1])
        every.append(np.unique(np.array(documents, dtype=np.int64)))
    if not every:
        raise DataError(f"{path}:1: the file is empty")
    return np.unique(np.concatenate(every)), np.unique(np.array(chosen, dtype=np.int64))
