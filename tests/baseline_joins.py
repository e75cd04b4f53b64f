"""What the tests of the baseline joins share: small streams with many equals, cut into batches, and the naive twins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from nilometer.laboratory.baselines import Arrivals

Reading = tuple[int, int, Any, int]
"""Time, stream, value, row."""

INTEGERS = st.sampled_from([0, 1, 2, -(2**60)])
FLOATS = st.sampled_from([0.0, -0.0, 1.5, 1e300])


@st.composite
def unmerged(draw: st.DrawFn, streams: int, most: int = 30) -> list[Reading]:
    """Each stream in the order of time, but not in step with the others; equal times, equal values, silent streams."""
    step = st.tuples(
        st.integers(0, streams - 1), st.integers(0, 2), draw(st.sampled_from([INTEGERS, FLOATS]))
    )
    times = [0] * streams
    readings = []
    for row, (stream, gap, value) in enumerate(draw(st.lists(step, max_size=most))):
        times[stream] += gap
        readings.append((times[stream], stream, value, 100 + row))
    return readings


@st.composite
def merged(draw: st.DrawFn, streams: int, most: int = 25) -> list[Reading]:
    """All streams in one order of time."""
    step = st.tuples(
        st.integers(0, streams - 1), st.integers(0, 2), draw(st.sampled_from([INTEGERS, FLOATS]))
    )
    time = 0
    readings = []
    for row, (stream, gap, value) in enumerate(draw(st.lists(step, max_size=most))):
        time += gap
        readings.append((time, stream, value, 100 + row))
    return readings


def batches(readings: list[Reading], size: int) -> Iterator[Arrivals]:
    """The readings as arrivals, `size` at a time; at last an empty batch. All are floats if one is."""
    floats = any(isinstance(value, float) for _, _, value, _ in readings)
    for start in range(0, len(readings) + size, size):
        part = readings[start : start + size]
        yield Arrivals(
            np.array([time for time, _, _, _ in part], dtype=np.int64),
            np.array([stream for _, stream, _, _ in part], dtype=np.int64),
            np.array([value for _, _, value, _ in part], dtype=np.float64 if floats else np.int64),
            np.array([row for _, _, _, row in part], dtype=np.int64),
        )


def naive_join(readings: list[Reading], streams: int, window: int | None, reach: float = 0) -> Counter[Any]:
    """All N-tuples of the cross product whose values and times are near each other: a bag of rows."""
    by_stream = [[reading for reading in readings if reading[1] == stream] for stream in range(streams)]
    return Counter(
        tuple(reading[3] for reading in members)
        for members in product(*by_stream)
        if max(reading[2] for reading in members) - min(reading[2] for reading in members) <= reach
        and (
            window is None
            or max(reading[0] for reading in members) - min(reading[0] for reading in members) <= window
        )
    )


def naive_multi_way(readings: list[Reading], streams: int, window: int, *, outer: bool) -> list[Counter[Any]]:
    """Per arrival the bag of its results: itself times, of each other stream, its earlier equals in the window, or NULL."""
    answers = []
    for place, (time, stream, value, row) in enumerate(readings):
        lists: list[list[int]] = [[] for _ in range(streams)]
        for earlier, other, equal, number in readings[:place]:
            if other != stream and equal == value and time - earlier <= window:
                lists[other].append(number)
        lists[stream] = [row]
        if outer:
            lists = [members or [-1] for members in lists]
        answers.append(Counter(product(*lists)))
    return answers


def bag(rows: np.ndarray | list[np.ndarray]) -> Counter[Any]:
    """Rows of results, to be compared in any order."""
    parts = rows if isinstance(rows, list) else [rows]
    return Counter(tuple(row) for part in parts for row in part.tolist())
