"""The two stacks against adding up every window anew."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels import sliding

GROUPS = 4

Entry = tuple[int, int, int]
"""Slice, group, value; the value's sign says whether it counts as a row."""


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Entry], list[tuple[int, int]]]:
    entries = draw(
        st.lists(st.tuples(st.integers(0, 12), st.integers(0, GROUPS - 1), st.integers(-8, 8)), max_size=24)
    )
    cells = {(name, group): (name, group, value) for name, group, value in entries}
    edges = draw(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 8)), max_size=12))
    windows = []
    low = high = -5
    for step, length in edges:
        low = max(low, low + step)
        high = max(high, low + length)
        windows.append((low, high))
    return sorted(cells.values()), windows


def columns(entries: list[Entry]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(entries, dtype=np.int64).reshape(-1, 3)
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()


class Kernel:
    """The state of the two stacks over one component, advanced in rounds."""

    def __init__(self, entries: list[Entry], pinned: bool) -> None:
        self.names, self.groups, self.values = columns(entries)
        self.counts = (self.values % 2 == 0).astype(np.int64)
        self.pinned = pinned
        self.stacks = {"rows": self._stacks(np.int64, 0)}
        self.active, self.places = np.zeros(GROUPS, np.int64), np.full(GROUPS, -1, np.int64)
        self.where: tuple[int, int, int] = (0, 0, 0)
        self.size = 0

    def _stacks(self, dtype: Any, identity: Any) -> tuple[np.ndarray, ...]:
        nexts = np.full(len(self.names), identity, dtype)
        return nexts, np.full(GROUPS, identity, dtype), np.full(GROUPS, identity, dtype)

    def advance(
        self, windows: list[tuple[int, int]], operation: int, dtype: Any
    ) -> list[tuple[int, int, int, Any]]:
        low = np.array([low for low, _ in windows], dtype=np.int64)
        high = np.array([high for _, high in windows], dtype=np.int64)
        identity = np.dtype(dtype).type({0: 0, 1: 10**6, 2: -(10**6)}[operation])
        key = f"{operation}{dtype}"
        self.stacks.setdefault(key, self._stacks(dtype, identity))
        moments = self.stacks.setdefault("moments", self._moments())
        taken, left, ends, answered, counts, *moved = sliding.slide_counts(
            low, high, self.names, self.groups, self.counts, *self.stacks["rows"], *self.where, self.pinned,
            self.active, self.places, self.size,
        )  # fmt: skip
        moves = (taken, left, self.groups)
        found = sliding.slide(
            operation,
            identity,
            *moves,
            self.values.astype(dtype),
            *self.stacks[key],
            *self.where,
            ends,
            answered,
        )
        self.variances = sliding.slide_merged(*moves, self.lifted, *moments, *self.where, ends, answered)[::3]
        *where, self.size = moved
        self.where = (where[0], where[1], where[2])
        owners = np.repeat(np.arange(len(windows)), np.diff(ends, prepend=0))
        return list(zip(owners.tolist(), answered.tolist(), counts.tolist(), found.tolist(), strict=True))

    def _moments(self) -> tuple[np.ndarray, ...]:
        nothing = np.zeros(len(self.names))
        self.lifted = np.stack([nothing + 1, self.values.astype(float), nothing, nothing])
        return np.zeros((4, len(self.names))), np.zeros((4, GROUPS)), np.zeros((4, GROUPS))


def naive(entries: list[Entry], window: tuple[int, int], group: int) -> list[int]:
    return [value for name, found, value in entries if found == group and window[0] < name <= window[1]]


@given(
    streams(),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["int64", "float64"]),
    st.booleans(),
    st.integers(0, 12),
)
def test_every_window_equals_its_sum(
    stream: tuple[list[Entry], list[tuple[int, int]]], operation: int, dtype: str, pinned: bool, cut: int
) -> None:
    entries, windows = stream
    if pinned:
        entries = sorted({name: (name, 0, value) for name, _, value in entries}.values())
    kernel = Kernel(entries, pinned)
    combine = (sum, min, max)[operation]
    for round_ in (windows[:cut], windows[cut:]):
        answers = kernel.advance(round_, operation, dtype)
        for number, (owner, group, count, found) in enumerate(answers):
            content = naive(entries, round_[owner], group)
            assert count == sum(value % 2 == 0 for value in content)
            if content:
                assert found == combine(content)
            assert kernel.variances[0, number] == len(content)
            mean = sum(content) / max(len(content), 1)
            squares = sum((value - mean) ** 2 for value in content)
            assert math.isclose(kernel.variances[1, number], squares, abs_tol=1e-9)
        for index, window in enumerate(round_):
            present = [group for owner, group, _, _ in answers if owner == index]
            counted = [g for g in range(GROUPS) if any(v % 2 == 0 for v in naive(entries, window, g))]
            assert sorted(present) == ([0] if pinned else counted)
