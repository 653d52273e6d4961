r"""Generated documents that imitate RCV1.

Same as in RCV1-v2 (LYRL2004: 804,414 documents, 47,236 terms, 60,915,113 non-zeros)
    The number of terms; 75.7 non-zeros per row on average (0.16 %); values
    :math:`(1 + \ln \mathrm{tf}) \ln(1 / \mathrm{df})`, each row scaled to unit length; columns that are not
    ordered by frequency; the share of positives (CCAT 47 %, C11 3 %).
Similar, by general laws of text
    The probability of the term of rank r is proportional to :math:`1 / (r + 10)`: Zipf's law with
    Mandelbrot's shift, which models the stop words that LYRL2004 removed. The most frequent term therefore
    occurs in half of the documents. Lengths are log-normal. Each further occurrence of a term in a document
    has probability 0.4.
Different
    Terms are independent: there are no phrases, no duplicates and no change over time. The Gram matrix is
    therefore closer to the identity than RCV1's, and test performance does not carry over to RCV1: trained on
    23,000 documents, a linear classifier is right on 87 % of new ones (balanced classes), against about 95 %
    on RCV1's CCAT. The shortest documents have four draws; RCV1's lengths vary more. The idf comes from the
    distribution, not from counts on a training part.
Labels
    +1 where :math:`w \cdot x + \varepsilon` exceeds a threshold. The threshold gives the requested share of
    positives to within one percent; it is estimated on 16,384 separate documents. :math:`w` is standard
    normal for the 500 most frequent terms and zero for the others. :math:`\varepsilon` is normal; its
    standard deviation is 0.15 times that of :math:`w \cdot x`, which alone makes 5 % of the labels wrong for
    balanced classes. The documents depend on the seed alone, not on the share of positives.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy import sparse
from svmrepro.datasets.dataset import FloatArray, sorted_csr

TERMS: Final = 47_236
SHIFT: Final = 10.0
"""Mandelbrot's shift, added to the rank."""
LOG_LENGTH: Final = (4.2125, 0.6)
"""Mean and standard deviation of the logarithm of a document's number of draws."""
LENGTHS: Final = (4, 2_000)
AGAIN: Final = 0.4
"""Probability of each further occurrence of a term in a document."""
TOPICAL: Final = 500
NOISE: Final = 0.15

_PILOT: Final = 16_384
_GRID: Final = 64


class _Terms(NamedTuple):
    """The terms of some documents: entries per document, and the columns and values of all entries."""

    counts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: FloatArray


class Documents:
    """The distribution of documents for one seed.

    ``hidden`` is the random stream for what all documents share: order of the columns, weights and threshold.
    ``positives`` is the share of documents labelled +1.
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
        """Draw documents from a random stream; return them with their labels."""
        terms = self._terms(rng, rows)
        scores = self._scores(terms) + self._noise * rng.standard_normal(rows)
        indptr = np.concatenate(([0], np.cumsum(terms.counts)))
        X = sorted_csr((terms.values, terms.columns.astype(np.int32), indptr), (rows, TERMS))
        return X, np.where(scores > self._threshold, 1.0, -1.0)

    def _terms(self, rng: Generator, rows: int) -> _Terms:
        lengths = np.exp(LOG_LENGTH[0] + LOG_LENGTH[1] * rng.standard_normal(rows))
        lengths = np.clip(np.rint(lengths), *LENGTHS).astype(np.int64)
        ranks = np.searchsorted(self._cumulated, rng.random(int(lengths.sum())), side="right")
        # The distinct terms of each document, sorted by column.
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
    """Return the expected share of documents that contain the term of each rank, most frequent first.

    It is the mean of ``1 - (1 - p_r)^length`` over equally spaced quantiles of the length.
    """
    from scipy.special import ndtri  # imported here to keep `import svmrepro.datasets` light

    steps = (np.arange(_GRID) + 0.5) / _GRID
    lengths = np.clip(np.rint(np.exp(LOG_LENGTH[0] + LOG_LENGTH[1] * ndtri(steps))), *LENGTHS)
    odds = 1.0 / (np.arange(1.0, TERMS + 1.0) + SHIFT)
    absent = np.log1p(-odds / odds.sum())
    shares = np.zeros(TERMS)
    for length in lengths:
        shares -= np.expm1(length * absent)
    return shares / _GRID
