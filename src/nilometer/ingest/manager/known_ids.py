"""The ids that a stream has sent since it was opened, up to a bound.

Garbage invents ids, and each id costs memory wherever something is kept by sensor. The law: a reading of a known id is
always taken; one of a new id only while there is room. Ids are kept sorted, whole numbers as they are and others as
hashes, eight bytes each. The work is columnar: a batch without new ids costs one search.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

MOST_IDS = 1_000_000


class KnownIds:
    """The ids of one stream."""

    def __init__(self, most: int = MOST_IDS) -> None:
        self.most = most
        self._known: npt.NDArray[np.uint64] = np.empty(0, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._known)

    def beyond(self, ids: pl.Series) -> pl.Series | None:
        """The readings whose ids are new and have no room; None if there are none. NULL is no id."""
        numbers = _numbers(ids)
        strange = ~self._has(numbers)
        if ids.null_count():
            strange &= ids.is_not_null().to_numpy()
        if not strange.any():
            return None
        found, first = np.unique(numbers[strange], return_index=True)
        new = found[np.argsort(first)][: max(self.most - len(self), 0)]  # those that came first
        self._known = np.union1d(self._known, new)
        refused = strange & ~self._has(numbers)
        return pl.Series(refused) if refused.any() else None

    def _has(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        if not len(self._known):
            return np.zeros(len(numbers), dtype=bool)
        places = np.searchsorted(self._known, numbers)
        places[places == len(self._known)] = 0
        return np.asarray(self._known[places] == numbers)


def _numbers(ids: pl.Series) -> npt.NDArray[np.uint64]:
    """A number for each id; NULL has any."""
    if ids.dtype == pl.Int64:
        whole = ids.fill_null(0) if ids.null_count() else ids
        return np.asarray(whole.to_numpy()).view(np.uint64)
    return np.asarray(ids.hash(seed=0).to_numpy())
