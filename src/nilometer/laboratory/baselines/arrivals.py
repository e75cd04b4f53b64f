"""Arrivals, the input of the baseline joins: tuples of several streams in the order in which they come, as
columns.

A join on equality compares integers: `keys` are the values themselves, or the bits of floats, with both zeros
made equal.

>>> Arrivals.of([5, 6], [0, 1], [-0.0, 0.0], [10, 20]).keys.tolist()
[0, 0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.kernels.read_only import read_only
from nilometer.kernels.similar_pairs import Values
from nilometer.operators.validation import require

NO_WINDOW = 2**62
"""More than any two times in the input may differ."""


@dataclass(frozen=True)
class Arrivals:
    """Times in microseconds, numbers of the streams, values of the join attribute, and row numbers for the
    answer."""

    times: Integers
    sources: Integers
    values: Values
    rows: Integers

    def __post_init__(self) -> None:
        lengths = {len(self.times), len(self.sources), len(self.values), len(self.rows)}
        require(len(lengths) == 1, f"columns of lengths {sorted(lengths)}")
        require(self.values.dtype in (np.int64, np.float64), f"values of {self.values.dtype}")
        if len(self.times):
            require(bool(np.abs(self.times).max() < NO_WINDOW // 2), "a time beyond 73,000 years")
            # NaN equals nothing, not even itself; a caller with missing readings leaves them out.
            require(not np.isnan(self.values).any(), "a value that is not a number")

    @staticmethod
    def of(
        times: Sequence[int], sources: Sequence[int], values: Sequence[Any], rows: Sequence[int]
    ) -> Arrivals:
        """From lists; values are floats if one of them is."""
        floats = any(isinstance(value, float) for value in values)
        return Arrivals(
            np.array(times, dtype=np.int64),
            np.array(sources, dtype=np.int64),
            np.array(values, dtype=np.float64) if floats else np.array(values, dtype=np.int64),
            np.array(rows, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, part: slice) -> Arrivals:
        return Arrivals(self.times[part], self.sources[part], self.values[part], self.rows[part])

    @cached_property
    def keys(self) -> Integers:
        """Integers that are equal where the values are equal."""
        if self.values.dtype == np.int64:
            return self.values.astype(np.int64, copy=False)
        return (self.values + 0.0).view(np.int64)


def require_streams(arrivals: Arrivals, streams: int) -> None:
    """Check that every tuple belongs to one of the join's streams."""
    if len(arrivals):
        least, most = int(arrivals.sources.min()), int(arrivals.sources.max())
        require(least >= 0 and most < streams, f"streams {least} to {most} in a join of {streams}")


def require_merged(arrivals: Arrivals, streams: int, latest: int) -> int:
    """Check that the join's streams are merged by time and go on from `latest`; returns the latest time
    now."""
    require_streams(arrivals, streams)
    if not len(arrivals):
        return latest
    ordered = int(arrivals.times[0]) >= latest and bool((np.diff(arrivals.times) >= 0).all())
    require(ordered, "times that fall; merge the streams by time first")
    return int(arrivals.times[-1])


Columns = tuple[Integers, Integers, Integers, Integers]


def columns(arrivals: Arrivals) -> Columns:
    """Times, sources, keys and rows, as a kernel takes them."""
    return (
        read_only(arrivals.times),
        read_only(arrivals.sources),
        read_only(arrivals.keys),
        read_only(arrivals.rows),
    )
