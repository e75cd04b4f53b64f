"""The one table against two loops: rows in several calls, expiry at the edge, values and sources that come and go."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.occurrence_table import OccurrenceTable

Row = tuple[int, int, int]


def naive(rows: list[Row], probe: int, window: int) -> list[int]:
    time, number, source = rows[probe]
    return [
        other
        for other in range(probe)
        if rows[other][1] == number and rows[other][2] != source and time - rows[other][0] <= window
    ]


def columns(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kinds = (np.int64, np.uint64, np.int64)
    times, numbers, sources = (
        np.array([row[side] for row in rows], dtype=kind) for side, kind in enumerate(kinds)
    )
    return times, numbers, sources


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(-1, 3)), max_size=30),
    st.lists(st.integers(0, 30), max_size=3),
    st.sampled_from([0, 1, 5, 100]),
)
def test_rows_in_several_calls(rows: list[Row], cuts: list[int], window: int) -> None:
    rows.sort(key=lambda row: row[0])
    table = OccurrenceTable(window)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for low, high in pairwise(edges):
        probes = table.probe(*columns(rows[low:high]))
        expected = [naive(rows, probe, window) for probe in range(low, high)]
        assert probes.partners.tolist() == [len(each) for each in expected]
        assert probes.sources.tolist() == [len({rows[other][2] for other in each}) for each in expected]
        owners, found = table.expand(probes)
        pairs = [(owner, other) for owner, each in enumerate(expected) for other in each]
        assert list(zip(owners.tolist(), found.tolist(), strict=True)) == pairs
        assert table.times(found).tolist() == [rows[other][0] for _, other in pairs]
        assert table.numbers(found).tolist() == [rows[other][1] for _, other in pairs]
        assert table.sources(found).tolist() == [rows[other][2] for _, other in pairs]
    if rows:
        table.expire(rows[-1][0])
        assert len(table) == sum(rows[-1][0] - row[0] <= window for row in rows)


def test_it_grows_and_shrinks_with_the_window() -> None:
    chance = np.random.default_rng(5)
    table = OccurrenceTable(window=1_000)
    rows: list[Row] = []
    time = peak = 0
    for round_number in range(12):
        # Thousands of values and sources at once, and then hardly any.
        count, kinds, step = (20_000, 9_000, 20) if round_number % 4 == 0 else (300, 5, 900)
        times = time + np.cumsum(chance.integers(0, 2, count) * (step // 10 or 1))
        time = int(times[-1])
        numbers = chance.integers(0, kinds, count).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        sources = chance.integers(0, 50, count)
        first = len(rows)
        rows += list(zip(times.tolist(), numbers.tolist(), sources.tolist(), strict=True))
        probes = table.probe(times, numbers, sources)
        peak = max(peak, table.bytes)
        for probe in chance.integers(0, count, 20).tolist():
            assert probes.partners[probe] == len(naive(rows, first + probe, 1_000))
    table.expire(time + 10_000)
    table.probe(*columns([(time + 10_000, 1, 1)]))
    table.probe(*columns([(time + 10_001, 1, 2)]))
    assert len(table) == 2
    assert table.bytes < peak / 10


def test_memory_is_the_windows_over_an_hour() -> None:
    table = OccurrenceTable(window=10_000_000)
    chance = np.random.default_rng(6)
    sizes = []
    for minute in range(60):
        times = np.sort(chance.integers(minute * 60_000_000, (minute + 1) * 60_000_000, 12_000))
        values = chance.normal(size=12_000).round(2)
        table.probe(times, values.view(np.uint64), chance.integers(0, 200, 12_000))
        sizes.append(table.bytes)
    assert max(sizes[30:]) <= max(sizes[:10])
    assert len(table) < 3_000
