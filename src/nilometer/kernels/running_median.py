"""The median and the median deviation of each source's last readings, before each new one joins them.

A source has a part of three arrays: the times and values of its readings as a queue (a ring), and its values sorted. A
reading costs a search and two shifts of memory; the median deviation is found by two pointers from the median outwards.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def _search(values, start, count, value):  # type: ignore[no-untyped-def]
    low, high = start, start + count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True)
def _middle(values, start, count):  # type: ignore[no-untyped-def]
    upper = values[start + count // 2]
    return upper if count % 2 else (values[start + count // 2 - 1] + upper) / 2


@numba.njit(cache=True)
def _deviation(values, start, count, median):  # type: ignore[no-untyped-def]
    """The median of |value - median|: the distances to both sides ascend, so they are merged up to the middle."""
    right = _search(values, start, count, median)
    left = right - 1
    before, last = 0.0, 0.0
    for _ in range(count // 2 + 1):
        before = last
        if left < start or (right < start + count and values[right] - median <= median - values[left]):
            last = values[right] - median
            right += 1
        else:
            last = median - values[left]
            left -= 1
    return last if count % 2 else (before + last) / 2


@numba.njit(cache=True)
def judge(  # type: ignore[no-untyped-def]
    sources,
    times,
    values,
    reach,
    starts,
    rooms,
    heads,
    counts,
    queue_times,
    queue,
    ordered,
    medians,
    mads,
    known,
):
    """For each reading, in the order of the stream: the median and deviation of those of its source later than
    time - reach, and how many there are. Then it joins them; there is room."""
    for number in range(len(sources)):
        source, time, value = sources[number], times[number], values[number]
        start, room, head, count = starts[source], rooms[source], heads[source], counts[source]
        while count > 0 and queue_times[start + head] <= time - reach:
            place = _search(ordered, start, count, queue[start + head])
            ordered[place : start + count - 1] = ordered[place + 1 : start + count]
            head = (head + 1) % room
            count -= 1
        known[number] = count
        if count > 0:
            medians[number] = _middle(ordered, start, count)
            mads[number] = _deviation(ordered, start, count, medians[number])
        place = _search(ordered, start, count, value)
        for move in range(start + count, place, -1):
            ordered[move] = ordered[move - 1]
        ordered[place] = value
        tail = start + (head + count) % room
        queue_times[tail], queue[tail] = time, value
        heads[source], counts[source] = head, count + 1


@numba.njit(cache=True)
def relocate(  # type: ignore[no-untyped-def]
    starts, rooms, heads, counts, queue_times, queue, ordered, new_starts, new_times, new_queue, new_ordered
):
    """Moves every source's part to its new place; queues then begin at its start."""
    for source in range(len(starts)):
        start, new = starts[source], new_starts[source]
        for number in range(counts[source]):
            old = start + (heads[source] + number) % rooms[source]
            new_times[new + number], new_queue[new + number] = queue_times[old], queue[old]
            new_ordered[new + number] = ordered[start + number]
        heads[source] = 0


def empty_parts(room: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, values and sorted values."""
    return np.empty(room, np.int64), np.empty(room, np.float64), np.empty(room, np.float64)
