"""LAG, DELTA and RATE against a walk over each source's tuples."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from nilometer.algebra import Lagged
from nilometer.errors import DataError, InternalError
from nilometer.expressions import Call, ColumnReference, Literal
from nilometer.operators import frames
from nilometer.operators.lag import Lag
from nilometer.operators.logic import Progress
from nilometer.types import FLOAT, INT, INT_MAXIMUM, INT_MINIMUM, SECOND, STRING, Column, Schema
from operators.twins import Row, Script, counted, few, scripts

R = Schema((Column("R.depth", INT), Column("R.rain", FLOAT), Column("R.kind", STRING)))
DEPTH, RAIN, KIND = (ColumnReference(column.name, column.type) for column in R)
SPEC = Lag(
    R,
    (
        Lagged("before", "LAG", KIND),
        Lagged("third", "LAG", Call("+", (DEPTH, Literal(1, INT)), INT), 3),
        Lagged("change", "DELTA", DEPTH),
        Lagged("rate", "RATE", RAIN),
        Lagged("whole rate", "RATE", DEPTH),
    ),
)


def naive(script: Script) -> list[Any]:
    sources: dict[int | None, list[Row]] = defaultdict(list)
    for row in script.rows():
        if row.tick < script.watermark:
            sources[row.id].append(row)
    result = []
    for rows in sources.values():
        rows.sort(key=lambda row: row.order)
        for number, row in enumerate(rows):
            one = rows[number - 1] if number >= 1 else None
            three = rows[number - 3] if number >= 3 else None
            items = (
                one.values[2] if one else None,
                three.values[0] + 1 if three and three.values[0] is not None else None,
                change(row, one, 0),
                rate(row, one, 1),
                rate(row, one, 0),
            )
            result.append((row.tick, row.time, row.id, row.position, *row.values, *items))
    return result


def change(row: Row, before: Row | None, column: int) -> Any:
    if before is None or row.values[column] is None or before.values[column] is None:
        return None
    return row.values[column] - before.values[column]


def rate(row: Row, before: Row | None, column: int) -> float | None:
    difference = change(row, before, column)
    if difference is None or before is None or row.time == before.time:
        return None
    return float(difference) / ((row.time - before.time) / SECOND)


@few
@given(scripts(R))
def test_lag_is_a_walk_over_each_source(script: Script) -> None:
    assert script.play(SPEC) == counted(naive(script))


def test_an_overflowing_difference_is_an_error() -> None:
    logic = Lag(R, (Lagged("change", "DELTA", DEPTH),)).build()
    rows = [(0, 0, 1, 0, INT_MINIMUM, 0.0, "a"), (1, 1, 1, 1, INT_MAXIMUM, 0.0, "a")]
    logic.update(0, pl.DataFrame(rows, schema=frames.stream_dtypes(R), orient="row"))
    with pytest.raises(DataError):
        logic.advance(Progress(2))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (Lagged("x", "LEAD", DEPTH), "LEAD"),
        (Lagged("x", "LAG", DEPTH, 0), "less than one"),
        (Lagged("x", "DELTA", DEPTH, 2), "only LAG has an offset"),
        (Lagged("x", "LAG", ColumnReference("S.depth", INT)), "S.depth"),
    ],
)
def test_refuses_to_be_built_wrong(item: Lagged, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        Lag(R, (item,))
