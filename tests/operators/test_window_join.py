"""The W-join of two to four streams against the product of all of them, over random window graphs."""

from __future__ import annotations

from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.expressions import Call, ColumnReference, Expression, Literal, Now, conjunction
from nilometer.operators import frames, window_join_steps
from nilometer.operators.logic import Progress
from nilometer.operators.window_join import KeyPair, WindowJoin
from nilometer.operators.window_join_steps import Bound
from nilometer.types import BOOLEAN, INT, STRING, TIME, Column, Schema
from operators.twins import Row, Script, counted, few, scripts

SCHEMAS = tuple(Schema((Column(f"{alias}.key", INT), Column(f"{alias}.kind", STRING))) for alias in "ABCD")


def key(port: int) -> ColumnReference:
    return ColumnReference(f"{'ABCD'[port]}.key", INT)


def kind(port: int) -> ColumnReference:
    return ColumnReference(f"{'ABCD'[port]}.kind", STRING)


@st.composite
def graphs(draw: st.DrawFn, count: int) -> tuple[Bound, ...]:
    """Bounds that connect all streams: a random tree, and some more edges."""
    width = st.sampled_from([0, 1, 2, 4, 9])
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


def equal(left: int, right: int, column: int) -> Any:
    def test(members: tuple[Row, ...], time: int) -> bool:
        one, other = members[left].values[column], members[right].values[column]
        return one is not None and one == other

    return test


@st.composite
def conditions(draw: st.DrawFn, count: int) -> tuple[tuple[KeyPair, ...], Expression | None, list[Any]]:
    """Keys, a predicate, and the same as plain tests."""
    keys: list[KeyPair] = []
    parts: list[Expression] = []
    tests: list[Any] = []
    ends = st.permutations(range(count))
    for column in draw(st.lists(st.sampled_from([0, 1]), max_size=2)):
        left, right, *_ = draw(ends)
        side = key if column == 0 else kind
        keys.append((left, side(left), right, side(right)))
        tests.append(equal(left, right, column))
    if draw(st.booleans()):
        left, right, *_ = draw(ends)
        parts.append(Call("<=", (key(left), key(right)), BOOLEAN))
        tests.append(
            lambda m, _: (
                None not in (m[left].values[0], m[right].values[0])
                and m[left].values[0] <= m[right].values[0]
            )
        )
    if draw(st.booleans()):
        port = draw(st.integers(0, count - 1))
        parts.append(Call("!=", (kind(port), Literal("a", STRING)), BOOLEAN))
        tests.append(lambda m, _: m[port].values[1] not in (None, "a"))
    if draw(st.booleans()):
        parts.append(Call("<", (Now(), Literal(12, TIME)), BOOLEAN))
        tests.append(lambda _, time: time < 12)
    return tuple(keys), conjunction(parts), tests


@few
@given(st.sampled_from([2, 3, 4]), st.data())
def test_the_window_join_is_the_product_within_its_bounds(count: int, data: st.DataObject) -> None:
    schemas = SCHEMAS[:count]
    script = data.draw(scripts(*schemas, most={2: 10, 3: 7, 4: 5}[count]))
    keys, predicate, tests = data.draw(conditions(count))
    spec = WindowJoin(schemas, data.draw(graphs(count)), keys, predicate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_join_steps, "PAIRS_AT_ONCE", data.draw(st.sampled_from([1, 4, 1_000])))
        assert script.play(spec) == counted(naive(script, spec, tests))


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
    rows = pl.DataFrame([(10, 10, 1, 0, 1, "a")], schema=frames.stream_dtypes(SCHEMAS[0]), orient="row")
    logic.update(0, rows)
    for watermark, kept in ((22, 1), (23, 0)):
        logic.advance(Progress(watermark))
        assert len(logic.snapshot()) == kept
