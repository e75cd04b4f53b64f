"""What is derived of one probe's range, against lists."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.test_occurrence_table import Row, columns, naive
from nilometer.kernels.occurrence_table import OccurrenceTable
from nilometer.kernels.partners import Partners, partners


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2), st.integers(0, 3)), max_size=30),
    st.lists(st.integers(0, 30), max_size=3),
    st.sampled_from([0, 5, 100]),
)
def test_sublists_counts_samples_and_deltas(rows: list[Row], cuts: list[int], window: int) -> None:
    rows.sort(key=lambda row: row[0])
    table = OccurrenceTable(window)
    # Per value its last answer and its list then.
    lists: dict[int, tuple[Partners, list[int]]] = {}
    for low, high in pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
        probes = table.probe(*columns(rows[low:high]))
        for row in range(high - low):
            time, number, _ = rows[low + row]
            found, expected = partners(table, probes, row), naive(rows, low + row, window)
            by_source = {rows[other][2]: [] for other in sorted(expected, key=lambda other: rows[other][2])}
            for other in expected:
                by_source[rows[other][2]].append(other)
            assert (len(found), found.sources) == (len(expected), len(by_source))
            assert found.occurrences().tolist() == expected
            assert {stream: sublist.tolist() for stream, sublist in found.sublists()} == by_source
            assert all(found.of(stream).tolist() == by_source.get(stream, []) for stream in range(4))
            assert found.combinations() == (prod(map(len, by_source.values())) if expected else 0)
            assert found.sample(3, 9).tolist() == [
                other
                for rank, other in enumerate(expected)
                if len(expected) <= 3
                or rank in {(i * 65_536 + 9) * len(expected) // (3 * 65_536) for i in range(3)}
            ]
            everyone = [
                other
                for other in range(low + row)
                if rows[other][1] == number and time - rows[other][0] <= window
            ]
            if number in lists:
                earlier, listed = lists[number]
                delta = found.since(earlier)
                listed = [other for other in listed if other >= delta.kept_from] + delta.joined.tolist()
                assert listed == everyone
            lists[number] = found, everyone


def test_the_product_is_exact_however_large() -> None:
    table = OccurrenceTable(window=1_000)
    sources = np.append(np.repeat(np.arange(40), 3), 99)
    probes = table.probe(np.arange(121), np.full(121, 7, dtype=np.uint64), sources)
    assert partners(table, probes, 120).combinations() == 3**40
