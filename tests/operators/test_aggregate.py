"""Aggregates of windows and tables: groups, NULLs, empty windows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import DataError, InternalError
from nilometer.expressions import Aggregate as Item
from nilometer.expressions import ColumnReference, Expression, Literal, Now
from nilometer.operators.aggregate import Aggregate
from nilometer.operators.logic import Progress, no_evaluations
from nilometer.operators.time_window import TimeWindow
from nilometer.plan import scalar
from nilometer.types import FLOAT, INT, NULL, POINT, STRING, TIME, Type
from operators.streams import SCHEMA, Log, Range, Row, drive, fewer, logs, order, ranges

COLUMNS: dict[str, Type] = {"i": INT, "f": FLOAT, "s": STRING}
TEXT = (("k", ColumnReference("s", STRING)),)


@st.composite
def aggregates(draw: st.DrawFn) -> tuple[tuple[str, Item], ...]:
    items: list[tuple[str, Item]] = [("n", Item("count", None, False, INT))]
    for number in range(draw(st.integers(1, 3))):
        column = draw(st.sampled_from(sorted(COLUMNS)))
        functions = ["count", "min", "max"]
        if column != "s":
            functions += ["sum", "avg", "stdev", "variance", "median"]
        function = draw(st.sampled_from(functions))
        own = {"count": INT, "sum": COLUMNS[column], "min": COLUMNS[column], "max": COLUMNS[column]}
        argument = ColumnReference(column, COLUMNS[column])
        items.append((f"a{number}", Item(function, argument, draw(st.booleans()), own.get(function, FLOAT))))
    return tuple(items)


def naive(items: tuple[tuple[str, Item], ...], rows: list[Row]) -> list[Any]:
    found = []
    for _, item in items:
        if item.argument is None:
            found.append(len(rows))
        else:
            values = [getattr(row, str(item.argument)) for row in rows]
            found.append(scalar.aggregate(item.function, item.distinct, values))
    return found


@fewer
@given(ranges(), logs(), aggregates(), st.booleans())
def test_windows(range_: Range, log: Log, items: tuple[tuple[str, Item], ...], grouped: bool) -> None:
    window = TimeWindow(SCHEMA, range_.start, range_.end, range_.slide, range_.open_start)
    logic = Aggregate(TEXT if grouped else (), items).build()
    given_: list[tuple[Any, ...]] = []
    for output in drive(window, log):
        logic.update(0, output.rows)
        restored = Aggregate(TEXT if grouped else (), items).build()
        restored.restore(logic.snapshot())
        answer = restored.advance(Progress(0, None, (output.evaluations,)))
        logic.advance(Progress(0, None, (output.evaluations,)))
        assert answer.evaluations.equals(output.evaluations)
        given_ += answer.rows.rows()
    expected: list[tuple[Any, ...]] = []
    for tick in range_.ticks(log):
        content = range_.content(log, tick)
        keys = sorted({row.s for row in content}, key=str) if grouped else [...]
        for key in keys:
            rows = [row for row in content if not grouped or row.s == key]
            expected.append((tick, tick, *([key] if grouped else []), *naive(items, rows)))
    assert [_rounded(row) for row in sorted(given_, key=order)] == [
        _rounded(row) for row in sorted(expected, key=order)
    ]


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(float(f"{v:.9g}") + 0.0 if isinstance(v, float) else v for v in row)


def table(
    items: dict[str, Item], frame: pl.DataFrame, keys: tuple[tuple[str, Expression], ...] = ()
) -> list[Any]:
    logic = Aggregate(keys, tuple(items.items()), windows=False).build()
    logic.update(0, frame)
    return logic.advance(Progress(0)).rows.rows()


def test_tables() -> None:
    frame = pl.DataFrame({"i": [1, 2, None], "s": ["a", None, None]})
    total = {"total": Item("sum", ColumnReference("i", INT), False, INT)}
    assert table(total, frame) == [(3,)]
    assert table(total, frame.clear()) == [(None,)]
    assert table(total, frame, TEXT) == [("a", 1), (None, 2)]
    assert table({}, frame, TEXT) == [("a",), (None,)]


def test_points_are_counted() -> None:
    frame = pl.DataFrame({"p": [{"x": 1.0, "y": 2.0}, {"x": 1.0, "y": 2.0}, None]})
    point = ColumnReference("p", POINT)
    items = {"n": Item("count", point, False, INT), "d": Item("count", point, True, INT)}
    assert table(items, frame) == [(2, 1)]


def test_null_alone_has_a_type() -> None:
    items = {
        "s": Item("sum", Literal(None, NULL), False, FLOAT),
        "n": Item("count", Literal(None, NULL), False, INT),
    }
    assert table(items, pl.DataFrame({"i": [1]})) == [(None, 0)]


def test_now_is_the_evaluation() -> None:
    logic = Aggregate((), (("m", Item("max", Now(), False, TIME)),)).build()
    windows = pl.DataFrame({"@evaluation": [5, 5], "@tick": [5, 5]})
    logic.update(0, windows)
    listed = pl.DataFrame({"@evaluation": [5, 6], "@tick": [5, 6]})
    assert logic.advance(Progress(7, None, (listed,))).rows.rows() == [(5, 5, 5), (6, 6, None)]
    assert logic.advance(Progress(7, None, (no_evaluations(),))).rows.height == 0


def test_a_sum_that_does_not_fit_is_an_error() -> None:
    frame = pl.DataFrame({"i": [2**62, 2**62, -(2**62)], "s": ["a", "a", "b"]})
    total = {"total": Item("sum", ColumnReference("i", INT), False, INT)}
    assert table(total, frame) == [(2**62,)]
    with pytest.raises(DataError, match="integer overflow in SUM"):
        table(total, frame, TEXT)


def test_variance_of_great_numbers() -> None:
    items = {"v": Item("variance", ColumnReference("i", INT), False, FLOAT)}
    assert table(items, pl.DataFrame({"i": [2**60, 2**60 + 1]})) == [(0.5,)]


@pytest.mark.parametrize(
    "item", [Item("sum", None, False, INT), Item("midrange", Literal(1, INT), False, INT)]
)
def test_wrong_aggregates_cannot_be_built(item: Item) -> None:
    with pytest.raises(InternalError):
        Aggregate((), (("a", item),))
    with pytest.raises(InternalError):
        Aggregate((("n", Literal(1, INT)),), (("n", Item("count", None, False, INT)),))
