"""Rows in a grid of buckets: what joins meets in exactly one bucket, and each bucket has its rows once and in order."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.expressions import ColumnReference
from nilometer.spark.layout.divide import divide
from nilometer.spark.layout.grid import Grid, shares_of
from nilometer.types import INT

SHAPES = {
    "chain": ((0,), (0, 1), (1,)),
    "star": ((0, 1, 2), (0,), (1,), (2,)),
    "triangle": ((0, 2), (0, 1), (1, 2)),
    "product": ((0,), (1,)),
}
values = st.lists(st.tuples(*[st.integers(0, 4) | st.none()] * 3), max_size=12)


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data(), buckets=st.integers(2, 17))
def test_rows_that_agree_meet_once(shape: str, data: st.DataObject, buckets: int) -> None:
    inputs = SHAPES[shape]
    tables = [data.draw(values) for _ in inputs]
    places: list[list[set[int]]] = []
    for port, (own, table) in enumerate(zip(inputs, tables, strict=True)):
        frame = pl.DataFrame(
            table, schema={f"d{place}": pl.Int64 for place in range(3)}, orient="row"
        ).with_row_index("row")
        keys = [ColumnReference(f"d{place}", INT) for place in own]
        found: list[set[int]] = [set() for _ in table]
        grid = Grid(inputs, port)
        for bucket, part in divide(frame, keys, buckets, grid):
            assert 0 <= bucket < buckets
            assert part["row"].is_sorted()
            assert part["row"].n_unique() == part.height
            for row in part["row"]:
                found[row].add(bucket)
        assert all(len(each) == grid.copies(buckets) for each in found)
        places.append(found)
    for rows in product(*(range(len(table)) for table in tables)):
        picked = [tables[port][row] for port, row in enumerate(rows)]
        agree = all(
            len({picked[port][place] for port, own in enumerate(inputs) if place in own}) <= 1
            for place in range(3)
        )
        if agree:
            assert len(set.intersection(*(places[port][row] for port, row in enumerate(rows)))) == 1


def test_a_grid_gives_each_bucket_few_rows() -> None:
    assert shares_of(SHAPES["triangle"], 8) == (2, 2, 2)
    assert shares_of(SHAPES["star"], 27) == (3, 3, 3)
    assert shares_of(SHAPES["chain"], 1) == (1, 1)
