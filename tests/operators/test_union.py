"""UNION of streams, windows and tables against concatenation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.operators.logic import Progress
from nilometer.operators.union import Union
from nilometer.types import FLOAT, INT, STRING, Column, Schema
from operators.twins import (
    Evaluation,
    Script,
    counted,
    evaluations,
    few,
    latest,
    play_windows,
    scripts,
    table_frame,
    table_rows,
)

R = Schema((Column("R.key", INT), Column("R.kind", STRING)))
S = Schema((Column("S.number", INT), Column("S.name", STRING)))


@few
@given(scripts(R, S))
def test_streams(script: Script) -> None:
    expected = [
        (row.tick, row.time, row.id, None, *row.values) for port in (0, 1) for row in script.rows(port)
    ]
    assert script.play(Union(R, S, "STREAM")) == counted(expected)


@pytest.mark.parametrize(
    ("id_types", "kept", "type_"),
    [
        ((INT, INT), True, INT),
        ((INT, STRING), False, INT),
        ((None, STRING), True, STRING),
        ((None, None), True, INT),
    ],
)
def test_ids_are_kept_where_they_can_be_compared(id_types: Any, kept: bool, type_: Any) -> None:
    spec = Union(R, S, "STREAM", id_types)
    assert spec.keeps_id is kept
    assert spec.id_type == type_


@few
@given(evaluations(R), evaluations(S), st.lists(st.integers(0, 18), max_size=3))
def test_windows(left: list[Evaluation], right: list[Evaluation], watermarks: list[int]) -> None:
    ticks = sorted({tick for side in (left, right) for _, tick, _ in side})
    rows, listed = play_windows(Union(R, S, "WINDOWS"), (R, S), (left, right), watermarks)
    expected = [(tick, tick, *row) for tick in ticks for side in (left, right) for row in latest(side, tick)]
    assert rows == counted(expected)
    assert listed == [(tick, tick) for tick in ticks]


@few
@given(table_rows(R), table_rows(S))
def test_tables(left: list[Any], right: list[Any]) -> None:
    logic = Union(R, S, "TABLE").build()
    logic.update(0, table_frame(left, R))
    logic.update(1, table_frame(right, S))
    output = logic.advance(Progress(0)).rows
    assert output.columns == list(R.names)
    assert counted(output.rows()) == counted([*left, *right])
    assert not logic.advance(Progress(1)).rows.height


def test_refuses_to_be_built_wrong() -> None:
    with pytest.raises(InternalError, match="a union of"):
        Union(R, Schema((Column("S.key", FLOAT), Column("S.kind", STRING))), "STREAM")
    with pytest.raises(InternalError, match="BAG"):
        Union(R, S, "BAG")
