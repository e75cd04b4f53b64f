"""Every form of the W-join, of two to five streams, against the product of all of them, over random window graphs: uniform,
different and missing windows; equal, near, comparable and unrelated values; NULLs, equal times, disorder, silent streams."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import DataError, InternalError
from nilometer.expressions import Call, ColumnReference, Expression, Literal, Now, conjunction
from nilometer.operators import frames
from nilometer.operators.logic import Progress
from nilometer.operators.window_join import bands as window_join_bands
from nilometer.operators.window_join import steps as window_join_steps
from nilometer.operators.window_join.keys import KeyPair
from nilometer.operators.window_join.plan import Form
from nilometer.operators.window_join.window_join import Bound, WindowJoin
from nilometer.types import BOOLEAN, FLOAT, INT, STRING, TIME, Column, Schema
from operators.twins import Row, Script, counted, few, scripts

SCHEMAS = tuple(
    Schema((Column(f"{alias}.key", INT), Column(f"{alias}.kind", STRING), Column(f"{alias}.level", FLOAT)))
    for alias in "ABCDE"
)
COLUMNS = (INT, STRING, FLOAT)


def column(port: int, place: int) -> ColumnReference:
    return ColumnReference(SCHEMAS[port].names[place], COLUMNS[place])


@st.composite
def graphs(draw: st.DrawFn, count: int) -> tuple[Bound, ...]:
    """Bounds that connect all streams: one window for all pairs, or a random tree and some more edges."""
    width = st.sampled_from([0, 1, 2, 4, 9])
    if draw(st.booleans()):
        uniform = draw(width)
        return tuple((left, right, uniform) for right in range(count) for left in range(right))
    tree = [(draw(st.integers(0, port - 1)), port, draw(width)) for port in range(1, count)]
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda e: e[0] != e[1])
    more = [(*edge, draw(width)) for edge in draw(st.lists(ends, max_size=3))]
    return tuple(draw(st.permutations(tree + more)))


def naive(script: Script, spec: WindowJoin, tests: list[Any]) -> list[Any]:
    result = []
    for members in product(*(script.rows(port) for port in range(len(spec.streams)))):
        time = max(member.time for member in members)
        near = all(abs(members[i].time - members[j].time) <= width for i, j, width in spec.bounds)
        if near and all(test(members, time) for test in tests):
            values = [value for member in members for value in member.values]
            result.append((time, time, None, None, *values))
    return result


def both(left: int, right: int, place: int, holds: Callable[[Any, Any], bool]) -> Any:
    """A test of two members' values, neither of which is NULL."""

    def test(members: tuple[Row, ...], time: int) -> bool:
        one, other = members[left].values[place], members[right].values[place]
        return one is not None and other is not None and holds(one, other)

    return test


@st.composite
def bands(draw: st.DrawFn, count: int) -> tuple[Expression, Any]:
    """A comparison of two streams' numbers, give or take a constant, and the same as a plain test."""
    left, right, *_ = draw(st.permutations(range(count)))
    place = draw(st.sampled_from([0, 2]))
    type_, step = COLUMNS[place], 1 if place == 0 else 1 / 64
    amount = draw(st.integers(0, 2)) * step
    one, other, constant = column(left, place), column(right, place), Literal(amount, type_)
    difference = Call("-", (one, other), type_)
    match draw(st.sampled_from(["abs", "difference", "sum", "plain", "mirrored"])):
        case "abs":
            near = Call("<=", (Call("abs", (difference,), type_), constant), BOOLEAN)
            return near, both(left, right, place, lambda a, b: abs(a - b) <= amount)
        case "difference":
            over = Call(">", (difference, constant), BOOLEAN)
            return over, both(left, right, place, lambda a, b: a - b > amount)
        case "sum":
            under = Call("<", (one, Call("+", (other, constant), type_)), BOOLEAN)
            return under, both(left, right, place, lambda a, b: a < b + amount)
        case "mirrored":
            least = Call(">=", (constant, Call("-", (one, other), type_)), BOOLEAN)
            return least, both(left, right, place, lambda a, b: amount >= a - b)
        case _:
            return Call("<=", (one, other), BOOLEAN), both(left, right, place, lambda a, b: a <= b)


@st.composite
def conditions(draw: st.DrawFn, count: int) -> tuple[tuple[KeyPair, ...], Expression | None, list[Any]]:
    """Keys, a predicate, and the same as plain tests."""
    keys: list[KeyPair] = []
    parts: list[Expression] = []
    tests: list[Any] = []
    ends = st.permutations(range(count))
    for place in draw(st.lists(st.sampled_from([0, 1, 2]), max_size=3)):
        left, right, *_ = draw(ends)
        keys.append((left, column(left, place), right, column(right, place)))
        tests.append(both(left, right, place, lambda a, b: a == b))
    if draw(st.booleans()):  # one equality for all
        place = draw(st.sampled_from([0, 1]))
        keys += [(port, column(port, place), port + 1, column(port + 1, place)) for port in range(count - 1)]
        tests += [both(port, port + 1, place, lambda a, b: a == b) for port in range(count - 1)]
    for part, test in draw(st.lists(bands(count), max_size=2)):
        parts.append(part)
        tests.append(test)
    if draw(st.booleans()):
        port = draw(st.integers(0, count - 1))
        parts.append(Call("!=", (column(port, 1), Literal("a", STRING)), BOOLEAN))
        tests.append(lambda m, _: m[port].values[1] not in (None, "a"))
    if draw(st.booleans()):
        parts.append(Call("<", (Now(), Literal(12, TIME)), BOOLEAN))
        tests.append(lambda _, time: time < 12)
    return tuple(keys), conjunction(parts), tests


@given(st.sampled_from([2, 3, 4, 5]), st.sampled_from(Form), st.data())
def test_every_form_is_the_product_within_its_bounds(count: int, form: Form, data: st.DataObject) -> None:
    schemas = SCHEMAS[:count]
    script = data.draw(scripts(*schemas, most={2: 10, 3: 7, 4: 5, 5: 4}[count]))
    keys, predicate, tests = data.draw(conditions(count))
    spec = WindowJoin(schemas, data.draw(graphs(count)), keys, predicate, form=form)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_join_steps, "PAIRS_AT_ONCE", data.draw(st.sampled_from([1, 4, 1_000])))
        patch.setattr(window_join_bands, "PAYS_FROM", data.draw(st.sampled_from([0, 2])))
        assert script.play(spec) == counted(naive(script, spec, tests))


@few
@given(st.sampled_from([2, 3]), st.data())
def test_a_band_is_searched_for(count: int, data: st.DataObject) -> None:
    """As above, of more tuples and with nothing else to narrow the search."""
    schemas = SCHEMAS[:count]
    script = data.draw(scripts(*schemas, most={2: 16, 3: 9}[count]))
    found = data.draw(st.lists(bands(count), min_size=1, max_size=3))
    spec = WindowJoin(
        schemas, data.draw(graphs(count)), (), conjunction([part for part, _ in found]), form=Form.MW
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_join_bands, "PAYS_FROM", 0)
        assert script.play(spec) == counted(naive(script, spec, [test for _, test in found]))


@few
@given(scripts(SCHEMAS[0]), st.sampled_from([0, 2, 5]))
def test_a_tuple_meets_itself_under_another_alias(script: Script, width: int) -> None:
    twice = Script(
        SCHEMAS[:2],
        tuple(
            tuple(Row(port, *astuple_without_port(row)) for row in batch for port in (0, 1))
            for batch in script.batches
        ),
        script.watermarks,
    )
    spec = WindowJoin(SCHEMAS[:2], ((0, 1, width),))
    assert twice.play(spec) == counted(naive(twice, spec, []))


def astuple_without_port(row: Row) -> tuple[Any, ...]:
    return (row.tick, row.time, row.id, row.position, row.values)


@pytest.mark.parametrize(
    ("streams", "bounds", "message"),
    [
        (1, (), "fewer than two"),
        (3, ((0, 1, 5),), "do not connect"),
        (2, ((0, 0, 5),), "between 0 and 0"),
        (2, ((0, 2, 5),), "between 0 and 2"),
        (2, ((0, 1, -1),), "negative"),
    ],
)
def test_refuses_to_be_built_wrong(streams: int, bounds: tuple[Bound, ...], message: str) -> None:
    with pytest.raises(InternalError, match=message):
        WindowJoin(SCHEMAS[:streams], bounds)


def test_a_tuple_is_forgotten_when_nothing_can_join_it() -> None:
    logic = WindowJoin(SCHEMAS[:3], ((0, 1, 5), (1, 2, 7))).build()
    rows = pl.DataFrame([(10, 10, 1, 0, 1, "a", 0.5)], schema=frames.stream_dtypes(SCHEMAS[0]), orient="row")
    logic.update(0, rows)
    for watermark, kept in ((22, 1), (23, 0)):
        logic.advance(Progress(watermark))
        assert len(logic.snapshot()) == kept


@pytest.mark.parametrize("limit", [2**62, -(2**62)])
def test_a_difference_that_overflows_is_still_refused(limit: int) -> None:
    """A search by value leaves out pairs on which the condition would fail; where one could overflow, there is none."""
    apart = Call(
        "<=", (Call("abs", (Call("-", (column(0, 0), column(1, 0)), INT),), INT), Literal(5, INT)), BOOLEAN
    )
    logic = WindowJoin(SCHEMAS[:2], ((0, 1, 100),), (), apart, form=Form.MW).build()
    for port, value in ((0, 2 * limit - (limit > 0)), (1, -limit)):
        rows = [(time, time, 1, 0, value, "a", 0.0) for time in range(80)]
        logic.update(port, pl.DataFrame(rows, schema=frames.stream_dtypes(SCHEMAS[port]), orient="row"))
    with pytest.raises(DataError, match=r"overflow|too large"):
        logic.advance(Progress(0))


def test_a_band_of_real_numbers_keeps_what_rounding_keeps() -> None:
    """The difference of some of these is 1.1 at most where the one is more than the other plus 1.1: the search must offer every pair
    that the condition would keep, however it is rounded."""
    parts = np.arange(300) / 100
    values = [parts, np.concatenate([np.nextafter(parts, -np.inf), parts, np.nextafter(parts, np.inf)])]
    near = Call(
        "<=",
        (Call("abs", (Call("-", (column(0, 2), column(1, 2)), FLOAT),), FLOAT), Literal(1.1, FLOAT)),
        BOOLEAN,
    )
    found = []
    for form in (Form.NLW, Form.MW):
        logic = WindowJoin(SCHEMAS[:2], ((0, 1, 1_000),), (), near, form=form).build()
        for port in (0, 1):
            rows = [(time, time, 1, 0, time, "a", float(value)) for time, value in enumerate(values[port])]
            logic.update(port, pl.DataFrame(rows, schema=frames.stream_dtypes(SCHEMAS[port]), orient="row"))
        found.append(logic.advance(Progress(0)).rows.select("A.key", "B.key").sort("A.key", "B.key"))
    assert found[0].height
    assert found[0].equals(found[1])
