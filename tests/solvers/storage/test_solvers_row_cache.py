"""The cache of kernel rows: which rows it keeps, when it grows, and where its memory is."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from svmrepro.solvers.caches import lru, reused_memory
from svmrepro.solvers.caches.lru import RowCache, build_cache, claim


def request(cache: RowCache, examples: np.ndarray) -> list[bool]:
    """Request rows as :func:`fetch` does, and return which of them were there."""
    hits = []
    for i in examples:
        hit = bool(cache.slot_of[i] >= 0)
        slot = claim(cache, i)
        assert cache.slot_of[i] == slot and cache.owner[slot] == i
        cache.counts.misses += not hit
        cache.called[i] = cache.counts.misses
        hits.append(hit)
    return hits


@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_least_recently_used_row_goes(size: int) -> None:
    n = 12
    cache = build_cache(n, 8.0 * n * size, "double")
    kept: OrderedDict[int, None] = OrderedDict()
    requests = np.random.default_rng(size).integers(0, n, 400)
    for i, hit in zip(requests, request(cache, requests), strict=True):
        assert hit == (i in kept)
        kept.pop(i, None)
        kept[i] = None
        if len(kept) > size:
            kept.popitem(last=False)
    assert sorted(kept) == sorted(cache.owner.tolist())
    assert cache.counts.calls == 400


@pytest.mark.parametrize("cheap", [False, True])
def test_it_grows_if_its_largest_size_has_the_rows_requested(
    cheap: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lru, "_FIRST_BYTES", 0)
    monkeypatch.setattr(lru, "_FIRST_BYTES_CHEAP", 0)
    n = 200
    cache = build_cache(n, 8.0 * n * (n // 2), "double", cheap=cheap)
    first = int(cache.counts.slots)
    request(cache, np.tile(np.arange(n), 5))  # rows return after n others: more than it may hold
    assert cache.counts.slots == first
    request(cache, np.tile(np.arange(first + 4), 30))
    assert cache.counts.slots == 2 * first
    assert all(request(cache, np.arange(first + 4)))


def test_it_stays_below_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lru, "_FIRST_BYTES", 0)
    n, most = 60, 25
    cache = build_cache(n, 8.0 * n * most, "double")
    for size in (20, 30, 60):
        request(cache, np.tile(np.arange(size), 40))
    assert cache.counts.slots == np.count_nonzero(cache.owner >= 0) == most == cache.rows.shape[0]


@pytest.mark.parametrize("precision", ["double", "rounded", "single"])
def test_first_size(precision: str) -> None:
    n = 5_000
    entry = lru.ENTRY_BYTES[precision]
    costly, cheap = (build_cache(n, 64 * 2**20, precision, cheap=cheap) for cheap in (False, True))
    limit = min(n, 64 * 2**20 // (entry * n))
    assert costly.counts.slots == limit  # below 256 MB
    assert cheap.counts.slots == 2 * 2**20 // (entry * n)


def test_rows_in_pages_of_the_usual_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = reused_memory.empty((1_500, 1_000), np.float32)  # enough for numpy to ask for huge pages
    assert rows.shape == (1_500, 1_000) and rows.dtype == np.float32
    assert rows.flags.writeable and rows.flags.c_contiguous and rows.flags.aligned
    rows[-1] = 1.0
    assert rows[-1].sum() == 1_000.0
    with pytest.raises(MemoryError):
        reused_memory.empty((2**40, 2**20), np.float32)
    monkeypatch.setattr(reused_memory, "KEEPS", False)  # such as macOS
    assert reused_memory.empty((1_500, 1_000), np.float32).shape == (1_500, 1_000)


@pytest.mark.skipif(not reused_memory.KEEPS, reason="memory is kept where it can be marked as free")
def test_memory_is_kept_for_the_next_run() -> None:
    def place(rows: np.ndarray) -> int:
        return int(rows.__array_interface__["data"][0])

    reused_memory.release()
    first = reused_memory.empty((1_500, 1_000), np.float64)
    view, at = first[3:], place(first)
    del first
    second = reused_memory.empty((1_500, 1_000), np.float64)
    assert place(second) != at  # as long as a view is in use, nobody else gets it
    del view
    third = reused_memory.empty((3_000, 500), np.float32)  # another shape, and less
    assert place(third) == at
    del second, third
    assert len(reused_memory._kept) == 1
    larger = reused_memory.empty((3_000, 1_000), np.float64)
    assert not reused_memory._kept  # too small, and returned
    at, small = place(larger), reused_memory.empty((1_500, 1_000), np.float64)
    del larger, small  # the larger one is kept, in whatever order they end
    fourth = reused_memory.empty((3_000, 1_000), np.float64)
    assert place(fourth) == at
    del fourth
    reused_memory.release()
    assert not reused_memory._kept
