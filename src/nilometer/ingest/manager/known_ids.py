"""The ids that a stream has sent since it was opened, up to a bound.

Garbage invents ids, and each id costs memory wherever something is kept by sensor. The law: a reading of a known id is
always taken; one of a new id only while there is room. Ids are kept as sorted hashes, eight bytes each, and the work is
columnar: a batch without new ids costs one search.
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
        hashes: npt.NDArray[np.uint64] = ids.hash(seed=0).to_numpy()
        strange = ~self._has(hashes) & ids.is_not_null().to_numpy()
        if not strange.any():
            return None
        found, first = np.unique(hashes[strange], return_index=True)
        new = found[np.argsort(first)][: max(self.most - len(self), 0)]  # those that came first
        self._known = np.union1d(self._known, new)
        refused = strange & ~self._has(hashes)
        return pl.Series(refused) if refused.any() else None

    def _has(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        if not len(self._known):
            return np.zeros(len(hashes), dtype=bool)
        places = np.searchsorted(self._known, hashes)
        places[places == len(self._known)] = 0
        return np.asarray(self._known[places] == hashes)
