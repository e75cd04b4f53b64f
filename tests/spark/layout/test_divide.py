"""Rows among buckets: equal keys meet, nothing is lost, order is kept; whatever types the keys have."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.expressions import Call, ColumnReference, Literal
from nilometer.operators.frames import dtype
from nilometer.operators.value_hashes import hashes_of
from nilometer.spark.layout import divide
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, Column, Kind, Type

TEXTS = Type(Kind.LIST, element=STRING)
PAIR = Type(Kind.STRUCT, fields=(Column("id", INT), Column("name", STRING)))

numbers = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=12)
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    INT: numbers,
    FLOAT: floats | st.integers(-3, 3).map(float) | st.just(-0.0),
    STRING: texts,
    BOOLEAN: st.booleans(),
    POINT: st.fixed_dictionaries({"x": floats, "y": floats}),
    TEXTS: st.lists(texts | st.none(), max_size=3),
    PAIR: st.fixed_dictionaries({"id": numbers | st.none(), "name": texts}),
}
KEY = ColumnReference("k", INT)


def rows_of(values: list[Any], type_: Type) -> pl.DataFrame:
    return pl.DataFrame({"k": pl.Series(values, dtype=dtype(type_)), "row": range(len(values))})


@pytest.mark.parametrize("type_", VALUES, ids=str)
@given(data=st.data(), buckets=st.integers(1, 7))
def test_equal_keys_meet(type_: Type, data: st.DataObject, buckets: int) -> None:
    values = data.draw(st.lists(st.none() | VALUES[type_], max_size=20))
    rows = rows_of(values, type_)
    parts = divide(rows, [ColumnReference("k", type_)], buckets)
    assert [bucket for bucket, _ in parts] == sorted({bucket for bucket, _ in parts})
    assert all(0 <= bucket < buckets for bucket, _ in parts)
    assert sorted(row for _, part in parts for row in part["row"]) == list(range(len(values)))
    assert all(part.height for _, part in parts)
    assert all(part["row"].is_sorted() for _, part in parts)
    assert all(part.equals(rows[part["row"].to_list()]) for _, part in parts)
    owners = {row: bucket for bucket, part in parts for row in part["row"]}
    for one, left in enumerate(values):
        for other, right in enumerate(values):
            if left == right:
                assert owners[one] == owners[other]


@given(st.lists(st.integers(-(2**53), 2**53) | st.none(), max_size=10))
def test_an_int_is_the_float_of_its_value(values: list[int | None]) -> None:
    integers = hashes_of(pl.Series(values, dtype=pl.Int64))
    assert integers.tolist() == hashes_of(pl.Series(values, dtype=pl.Float64)).tolist()


@given(st.lists(texts | st.none(), max_size=10), st.integers(0, 5))
def test_a_text_has_one_hash_wherever_it_stands(values: list[str | None], start: int) -> None:
    whole = hashes_of(pl.Series(values, dtype=pl.String))
    part = pl.concat([pl.Series(values[:start], dtype=pl.String), pl.Series(values, dtype=pl.String)[start:]])
    assert hashes_of(pl.Series(values, dtype=pl.String)[start:]).tolist() == whole[start:].tolist()
    assert hashes_of(part).tolist() == whole.tolist()


def test_null_is_a_value_of_its_own() -> None:
    assert len({hashes_of(pl.Series(values))[0] for values in ([None], [0], [""], [False])}) == 4
    nulls = (pl.Null, pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.List(pl.Int64))
    assert len({hashes_of(pl.Series([None], dtype=kind))[0] for kind in nulls}) == 1


def test_without_keys_or_with_one_bucket_rows_stay_together() -> None:
    rows = rows_of([3, 1, 2], INT)
    assert divide(rows, [], 4)[0][1] is rows
    assert divide(rows, [KEY], 1)[0][1] is rows
    assert divide(rows.clear(), [KEY], 4) == []


def test_several_keys_and_expressions() -> None:
    rows = pl.DataFrame({"k": [1, 1, 2, 2] * 50, "name": ["a", "b"] * 100, "row": range(200)})
    keys = [Call("+", (KEY, Literal(1, INT)), INT), ColumnReference("name", STRING)]
    parts = divide(rows, keys, 64)
    assert len(parts) == 4
    assert all(part.select("k", "name").n_unique() == 1 for _, part in parts)


def test_a_key_that_overflows_is_null_here_and_an_error_only_where_the_plan_asks_for_it() -> None:
    rows = rows_of([1, 2**62, 3, None], INT)
    parts = divide(rows, [Call("*", (KEY, Literal(4, INT)), INT)], 97)
    owners = {row: bucket for bucket, part in parts for row in part["row"]}
    assert owners[1] == owners[3]
    assert len(set(owners.values())) == 3


def test_a_constant_key_is_one_for_all_rows() -> None:
    rows = rows_of([1, 2, 3], INT)
    ((bucket, part),) = divide(rows, [Literal(7, INT)], 5)
    assert part.height == 3
    assert 0 <= bucket < 5
