r"""Generated documents of RCV1's shape.

What is as in RCV1-v2 (LYRL2004: 804,414 documents, 47,236 terms, 60,915,113 non-zeros)
    The number of terms; 75.7 non-zeros a row on average, 0.16 %; values
    :math:`(1 + \ln \mathrm{tf}) \ln(1 / \mathrm{df})`, each row scaled to unit length; columns in no order of
    frequency; the share of positives (CCAT 47 %, C11 3 %).
What is like it, by the general laws of text
    The probability of the term of rank r falls as :math:`1 / (r + 10)` (Zipf's law with Mandelbrot's shift,
    which stands for the stop words that LYRL2004 left out), so that half of the documents have the most
    frequent term; lengths are log-normal; a term that occurs once occurs again with probability 0.4, and so
    on.
What is not
    Terms occur independently of one another: no phrases, no duplicates, no change with time. So the Gram
    matrix is closer to the unit matrix than RCV1's, and no test performance here says anything of that on
    RCV1: after 23,000 documents a linear classifier is right on 87 % of others (a balanced set), on RCV1's
    CCAT on about 95 %. The shortest documents have four draws; RCV1's vary more. The idf is that of the
    distribution, not of a training part's counts.
Labels
    +1 where :math:`w \cdot x + \varepsilon` exceeds a threshold that leaves the share of positives asked for,
    as found from 16,384 other documents (so to within a percent). :math:`w` is standard normal for the 500
    most frequent terms and zero for the others; :math:`\varepsilon` is normal with 0.15 of the standard
    deviation of :math:`w \cdot x`, which by itself gives 5 % of wrong labels for a balanced set. Two shares
    of positives for the same seed label the very same documents.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy import sparse
from svmrepro.datasets.dataset import FloatArray

TERMS: Final = 47_236
SHIFT: Final = 10.0
"""Mandelbrot's: added to the rank."""
LOG_LENGTH: Final = (4.2125, 0.6)
"""Mean and standard deviation of the logarithm of the number of draws of a document."""
LENGTHS: Final = (4, 2_000)
AGAIN: Final = 0.4
"""Probability that a term which occurred so many times occurs once more."""
TOPICAL: Final = 500
NOISE: Final = 0.15

_PILOT: Final = 16_384
_GRID: Final = 64


class _Terms(NamedTuple):
    """The terms of some documents: entries of each, and the entries' columns and values."""

    counts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: FloatArray


class Documents:
    """The distribution of one seed.

    Parameters
    ----------
    hidden
        The random stream of what all documents share.
    positives
        Share of documents labelled +1.
    """

    def __init__(self, hidden: Generator, positives: float) -> None:
        odds = 1.0 / (np.arange(1.0, TERMS + 1.0) + SHIFT)
        cumulated = np.cumsum(odds)
        self._cumulated = cumulated / cumulated[-1]
        self._column = np.argsort(hidden.random(TERMS), kind="stable")
        idf = np.empty(TERMS)
        idf[self._column] = -np.log(document_frequencies())
        self._idf = idf
        self._weights = np.zeros(TERMS)
        self._weights[self._column[:TOPICAL]] = hidden.standard_normal(TOPICAL)
        self._noise = self._threshold = 0.0
        scores = self._scores(self._terms(hidden, _PILOT))
        self._noise = NOISE * float(scores.std())
        noisy = np.sort(scores + self._noise * hidden.standard_normal(_PILOT))
        self._threshold = float(noisy[min(int((1.0 - positives) * _PILOT), _PILOT - 1)])

    def draw(self, rng: Generator, rows: int) -> tuple[sparse.csr_matrix, FloatArray]:
        """Return documents drawn from a random stream, and their labels."""
        terms = self._terms(rng, rows)
        scores = self._scores(terms) + self._noise * rng.standard_normal(rows)
        indptr = np.concatenate(([0], np.cumsum(terms.counts)))
        X = sparse.csr_matrix((terms.values, terms.columns.astype(np.int32), indptr), shape=(rows, TERMS))
        X.has_sorted_indices = True
        return X, np.where(scores > self._threshold, 1.0, -1.0)

    def _terms(self, rng: Generator, rows: int) -> _Terms:
        lengths = np.exp(LOG_LENGTH[0] + LOG_LENGTH[1] * rng.standard_normal(rows))
        lengths = np.clip(np.rint(lengths), *LENGTHS).astype(np.int64)
        ranks = np.searchsorted(self._cumulated, rng.random(int(lengths.sum())), side="right")
        # A document's terms, each once, in the order of the columns.
        keys = np.repeat(np.arange(rows) * TERMS, lengths) + self._column[ranks]
        keys.sort()
        keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))]
        documents, columns = np.divmod(keys, TERMS)
        counts = np.bincount(documents, minlength=rows)
        values = (1.0 + np.log(rng.geometric(1.0 - AGAIN, len(keys)))) * self._idf[columns]
        firsts = np.cumsum(counts) - counts
        values /= np.repeat(np.sqrt(np.add.reduceat(values * values, firsts)), counts)
        return _Terms(counts, columns, values)

    def _scores(self, terms: _Terms) -> FloatArray:
        firsts = np.cumsum(terms.counts) - terms.counts
        scores: FloatArray = np.add.reduceat(self._weights[terms.columns] * terms.values, firsts)
        return scores


def document_frequencies() -> FloatArray:
    """Return the expected share of documents that have the term of each rank, from the most frequent on.

    Returns
    -------
    ndarray (TERMS,) of float64
        The mean of ``1 - (1 - p_r)^length`` over lengths at equal steps of their distribution.
    """
    from scipy.special import ndtri  # only here: `import svmrepro.datasets` stays light

    steps = (np.arange(_GRID) + 0.5) / _GRID
    lengths = np.clip(np.rint(np.exp(LOG_LENGTH[0] + LOG_LENGTH[1] * ndtri(steps))), *LENGTHS)
    odds = 1.0 / (np.arange(1.0, TERMS + 1.0) + SHIFT)
    absent = np.log1p(-odds / odds.sum())
    shares = np.zeros(TERMS)
    for length in lengths:
        shares -= np.expm1(length * absent)
    return shares / _GRID
