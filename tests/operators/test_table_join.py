"""Joins with tables against every pair of rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.expressions import Call, ColumnReference, Expression
from nilometer.operators import frames, matching
from nilometer.operators.logic import Progress
from nilometer.operators.table_join import StreamTableJoin, TableJoin
from nilometer.operators.union import Union
from nilometer.types import BOOLEAN, INT, STRING, Column, Schema
from operators.twins import Script, counted, few, scripts, table_frame, table_rows

R = Schema((Column("R.key", INT), Column("R.value", INT)))
T = Schema((Column("T.key", INT), Column("T.value", INT), Column("T.kind", STRING)))
KEY = (ColumnReference("R.key", INT), ColumnReference("T.key", INT))
LESS = Call("<", (ColumnReference("R.value", INT), ColumnReference("T.value", INT)), BOOLEAN)

Values = tuple[Any, ...]
Condition = tuple[matching.KeyPairs, Expression | None]
conditions: st.SearchStrategy[Condition] = st.sampled_from(
    [((), None), ((KEY,), None), ((), LESS), ((KEY,), LESS)]
)
kinds = st.sampled_from(["INNER", "LEFT", "SEMI", "ANTI"])


def joined(kind: str, left: Values, table: list[Values], condition: Condition) -> list[Values]:
    keys, residual = condition
    matches = [
        right
        for right in table
        if (not keys or (left[0] is not None and left[0] == right[0]))
        and (residual is None or (left[1] is not None and right[1] is not None and left[1] < right[1]))
    ]
    match kind:
        case "INNER":
            return [left + right for right in matches]
        case "LEFT":
            return [left + right for right in matches or [(None, None, None)]]
        case "SEMI":
            return [left] if matches else []
        case _:
            return [] if matches else [left]


@few
@given(scripts(R), table_rows(T), kinds, conditions)
def test_a_stream_with_a_table(script: Script, table: list[Values], kind: str, condition: Condition) -> None:
    expected = [
        (row.tick, row.time, row.id, row.position, *values)
        for row in script.rows()
        for values in joined(kind, row.values, table, condition)
    ]
    spec = StreamTableJoin(R, T, kind, *condition)
    assert script.play(spec, tables={1: table_frame(table, T)}) == counted(expected)


@few
@given(table_rows(R), table_rows(T), kinds, conditions)
def test_a_table_with_a_table(
    left: list[Values], right: list[Values], kind: str, condition: Condition
) -> None:
    logic = TableJoin(R, T, kind, *condition).build()
    logic.update(0, table_frame(left, R))
    logic.update(1, table_frame(right, T))
    expected = [row for one in left for row in joined(kind, one, right, condition)]
    assert counted(logic.advance(Progress(0)).rows.rows()) == counted(expected)
    assert not logic.advance(Progress(1)).rows.height


def test_tables_without_columns_keep_their_rows() -> None:
    nothing = Schema(())
    product, bag = TableJoin(nothing, nothing).build(), Union(nothing, nothing, "TABLE").build()
    for port, height in ((0, 3), (1, 2)):
        product.update(port, pl.DataFrame(height=height))
        bag.update(port, pl.DataFrame(height=height))
    assert product.advance(Progress(0)).rows.shape == (6, 0)
    assert bag.advance(Progress(0)).rows.shape == (5, 0)


def test_a_new_version_of_a_table_replaces_the_old() -> None:
    logic = StreamTableJoin(R, T, "INNER", (KEY,)).build()
    tuples = pl.DataFrame([(0, 0, 1, 0, 1, 5)], schema=frames.stream_dtypes(R), orient="row")
    for version in ("old", "new"):
        logic.update(1, table_frame([(1, 2, version)], T))
        logic.update(0, tuples)
        assert logic.advance(Progress(0)).rows["T.kind"].to_list() == [version]


@pytest.mark.parametrize("table", [0, 1])
def test_the_table_may_stand_on_either_side(table: int) -> None:
    left, right = (T, R) if table == 0 else (R, T)
    keys = (KEY[::-1] if table == 0 else KEY,)
    spec = StreamTableJoin(left, right, "INNER", keys, table=table)
    assert spec.schema.names == left.names + right.names
