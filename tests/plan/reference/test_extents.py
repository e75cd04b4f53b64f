"""Acquisition: columns, static attributes, what was pushed into it; and stored extents."""

from __future__ import annotations

import math

import pytest

from nilometer.catalog.extents import Sensor, Stream, stream_columns
from nilometer.errors import InternalError
from nilometer.plan import logical
from nilometer.plan.reference import evaluate
from nilometer.types import FLOAT, INT, POINT, STRING, TIME, Column
from plan.reference.build import acquire, column, compare, feeds, now_window, pushed, reading, run, stored

KIND, PLACE = Column("kind", STRING), Column("location", POINT)
SENSORS = {"s": [Sensor(1, "s", (1, 2.5), (("Kind", "gauge"),)), Sensor(2, "s")]}


def test_static_attributes_are_columns():
    node = logical.Acquire(pushed(), "s", (Column("v", INT), KIND, PLACE))
    log = [reading(1, 10, 1), reading(2, 20, 2), reading(3, 30, 3), reading(4, 40, None)]
    assert evaluate(node, feeds(s=log), sensors=SENSORS).rows == (
        (10, "gauge", (1.0, 2.5)),
        (20, None, None),
        (30, None, None),
        (40, None, None),
    )


def test_a_declared_column_hides_an_attribute():
    stream = Stream("s", stream_columns((Column("kind", STRING),)))
    node = logical.Acquire(stream, "s", (KIND,))
    assert evaluate(node, feeds(s=[{"time": 1, "id": 1, "kind": "own"}]), sensors=SENSORS).rows == (("own",),)


def test_the_sensors_that_run():
    node = logical.Acquire(pushed(), "s", (Column("v", INT),), sensors=frozenset((2,)))
    assert run(node, s=[reading(1, 10, 1), reading(2, 20, 2)]) == [20]


def test_the_predicate_may_read_what_is_not_passed_on():
    predicate = compare(column("s.v"), ">", 1)
    node = logical.Acquire(pushed(), "s", (Column("time", TIME),), (Column("v", INT),), predicate)
    assert run(node, s=[reading(1, 1), reading(2, 2), reading(3, None)]) == [2]


def test_neither_moves_the_first_tick():
    node = logical.Acquire(pushed(), "s", (Column("v", INT),), sensors=frozenset((2,)))
    rows = run(logical.Deliver(now_window(node, 5), True), s=[reading(3, 1, 1), reading(10, 2, 2)])
    assert rows == [(10, 2)]


def test_nan_becomes_null_and_whole_numbers_floats():
    node = acquire(pushed(value=FLOAT))
    rows = evaluate(node, feeds(s=[reading(1, math.nan), reading(2, 3)])).rows
    assert [(value, type(value)) for _, _, value in rows] == [(None, type(None)), (3.0, float)]


def test_names_ignore_case_and_a_missing_value_is_null():
    assert run(acquire(pushed()), s=[{"Time": 1, "ID": 7}]) == [(1, 7, None)]


def test_stored():
    node = stored("T", k=INT, share=FLOAT)
    assert run(node, tables={"t": [{"k": 1, "share": 1}, {"K": 2, "share": math.nan}]}) == [
        (1, 1.0),
        (2, None),
    ]


def test_a_table_without_a_snapshot():
    with pytest.raises(InternalError, match="no snapshot of table 't'"):
        run(stored("t", k=INT), tables={})
