"""Frames keep their dtypes, whatever is in them, through bytes and back."""

from __future__ import annotations

import polars as pl
import pytest

from nilometer.operators import frames
from nilometer.types import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    NULL,
    POINT,
    STRING,
    TIME,
    Column,
    Schema,
    Type,
    list_of,
    struct_of,
)

EVERYTHING = Schema(
    (
        Column("a", INT),
        Column("b", FLOAT),
        Column("c", STRING),
        Column("d", BOOLEAN),
        Column("e", TIME),
        Column("f", DURATION),
        Column("g", POINT),
        Column("h", list_of(struct_of(Column("id", INT), Column("times", list_of(TIME))))),
        Column("i", NULL),
    )
)


def everything() -> pl.DataFrame:
    row = (1, 0.5, "x", True, -7, 3, {"x": 1.0, "y": None}, [{"id": 1, "times": [2, None]}], None)
    rows = [row, (None,) * len(row)]
    return pl.DataFrame(rows, schema=frames.dtypes(EVERYTHING), orient="row")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_bytes_and_back(count: int) -> None:
    frame = everything().head(count)
    back = frames.from_bytes(frames.to_bytes(frame))
    assert back.schema == frame.schema
    assert back.equals(frame)
    assert frames.to_bytes(back) == frames.to_bytes(frame)


def test_system_columns_come_first() -> None:
    schema = Schema((Column("R.depth", Type(INT.kind, 16)),))
    assert list(frames.stream_dtypes(schema, STRING).items()) == [
        ("@tick", pl.Int64()),
        ("@time", pl.Int64()),
        ("@id", pl.String()),
        ("@position", pl.Int64()),
        ("R.depth", pl.Int64()),
    ]
    assert list(frames.window_dtypes(schema)) == ["@evaluation", "@tick", "R.depth"]


def test_conform_orders_and_types_columns_of_nulls() -> None:
    frame = pl.DataFrame({"b": [None], "a": [1]})
    conformed = frames.conform(frame, {"a": pl.Int64(), "b": pl.Float64()})
    assert conformed.schema == {"a": pl.Int64, "b": pl.Float64}


def test_concatenate_of_nothing_is_empty() -> None:
    assert frames.concatenate([], {"a": pl.Int64()}).schema == {"a": pl.Int64}
    parts = [
        pl.DataFrame({"a": [1]}),
        pl.DataFrame({"a": []}, schema={"a": pl.Int64}),
        pl.DataFrame({"a": [2]}),
    ]
    assert frames.concatenate(parts, {"a": pl.Int64()})["a"].to_list() == [1, 2]
