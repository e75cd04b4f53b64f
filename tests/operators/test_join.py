"""Window joins against every pair of rows at every tick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.expressions import Call, ColumnReference, Expression, Literal, Now
from nilometer.operators import join, matching
from nilometer.operators.join import WindowsJoin, WindowsTableJoin
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, TIME, Column, Schema
from operators.twins import (
    Evaluation,
    counted,
    evaluations,
    few,
    latest,
    play_windows,
    table_frame,
    table_rows,
)

R = Schema((Column("R.key", INT), Column("R.rain", FLOAT), Column("R.at", POINT)))
S = Schema((Column("S.key", INT), Column("S.rain", FLOAT), Column("S.at", POINT), Column("S.kind", STRING)))
KINDS = ("INNER", "LEFT", "SEMI", "ANTI")

Values = tuple[Any, ...]
Test = Callable[[Values, Values, int], bool]


def reference(name: str) -> ColumnReference:
    return ColumnReference(name, (R + S)[name].type)


def equal(column: int) -> Test:
    return lambda left, right, now: left[column] is not None and left[column] == right[column]


def less(left: Values, right: Values, now: int) -> bool:
    return left[1] is not None and right[1] is not None and left[1] < right[1]


LESS = Call("<", (reference("R.rain"), reference("S.rain")), BOOLEAN)
KEY = (reference("R.key"), reference("S.key"))
RAIN = (reference("R.rain"), reference("S.rain"))
AT = (reference("R.at"), reference("S.at"))
SOON = Call("<", (Now(), Literal(6, TIME)), BOOLEAN)

CONDITIONS: list[tuple[matching.KeyPairs, Expression | None, Test]] = [
    ((), None, lambda left, right, now: True),
    ((KEY,), None, equal(0)),
    ((AT,), None, equal(2)),
    ((KEY, RAIN), None, lambda left, right, now: equal(0)(left, right, now) and equal(1)(left, right, now)),
    ((), LESS, less),
    ((KEY,), LESS, lambda left, right, now: equal(0)(left, right, now) and less(left, right, now)),
    ((KEY,), SOON, lambda left, right, now: equal(0)(left, right, now) and now < 6),
    ((), Literal(True, BOOLEAN), lambda left, right, now: True),
    ((), Literal(None, BOOLEAN), lambda left, right, now: False),
]


def joined(kind: str, left: list[Values], right: list[Values], test: Test, now: int) -> list[Values]:
    rows = []
    for one in left:
        matches = [other for other in right if test(one, other, now)]
        match kind:
            case "INNER":
                rows += [one + other for other in matches]
            case "LEFT":
                rows += [one + other for other in matches or [(None,) * 4]]
            case "SEMI":
                rows += [one] if matches else []
            case "ANTI":
                rows += [] if matches else [one]
    return rows


@few
@given(
    kind=st.sampled_from(KINDS),
    left=evaluations(R),
    right=evaluations(S),
    condition=st.sampled_from(CONDITIONS),
    watermarks=st.lists(st.integers(0, 18), max_size=3),
    chunk=st.sampled_from([1, 3, 1_000]),
)
def test_windows_join_at_the_union_of_their_ticks(
    kind: str,
    left: list[Evaluation],
    right: list[Evaluation],
    condition: tuple[matching.KeyPairs, Expression | None, Test],
    watermarks: list[int],
    chunk: int,
) -> None:
    keys, residual, test = condition
    ticks = sorted({tick for side in (left, right) for _, tick, _ in side})
    expected = [
        (tick, tick, *row)
        for tick in ticks
        for row in joined(kind, latest(left, tick), latest(right, tick), test, tick)
    ]
    with pytest.MonkeyPatch.context() as patch:  # chunks so small that everything is cut
        patch.setattr(matching, "PAIRS_AT_ONCE", chunk)
        patch.setattr(join, "ROWS_AT_ONCE", chunk)
        rows, listed = play_windows(
            WindowsJoin(R, S, kind, keys, residual), (R, S), (left, right), watermarks
        )
    assert rows == counted(expected)
    assert listed == [(tick, tick) for tick in ticks]


@few
@given(
    kind=st.sampled_from(KINDS),
    windows=evaluations(R),
    table=table_rows(S),
    condition=st.sampled_from(CONDITIONS),
    watermarks=st.lists(st.integers(0, 18), max_size=2),
)
def test_windows_with_a_table_at_the_windows_ticks(
    kind: str,
    windows: list[Evaluation],
    table: list[Values],
    condition: tuple[matching.KeyPairs, Expression | None, Test],
    watermarks: list[int],
) -> None:
    keys, residual, test = condition
    spec = WindowsTableJoin(R, S, kind, keys, residual)
    expected = [
        (number, tick, *row) for number, tick, bag in windows for row in joined(kind, bag, table, test, tick)
    ]
    rows, listed = play_windows(spec, (R, S), (windows, []), watermarks, (1, table_frame(table, S)))
    assert rows == counted(expected)
    assert listed == [(number, tick) for number, tick, _ in windows]


@few
@given(windows=evaluations(S), table=table_rows(R), condition=st.sampled_from(CONDITIONS))
def test_a_table_with_windows(
    windows: list[Evaluation],
    table: list[Values],
    condition: tuple[matching.KeyPairs, Expression | None, Test],
) -> None:
    keys, residual, test = condition
    spec = WindowsTableJoin(R, S, "INNER", keys, residual, table=0)
    expected = [
        (number, tick, *row)
        for number, tick, bag in windows
        for row in joined("INNER", table, bag, test, tick)
    ]
    rows, _ = play_windows(spec, (R, S), ([], windows), [], (0, table_frame(table, R)))
    assert rows == counted(expected)


def test_a_key_of_the_table_that_reads_now() -> None:
    now_key = (reference("R.key"), Call("int", (Now(),), INT))
    spec = WindowsTableJoin(R, S, "INNER", ((reference("R.key"), reference("S.key")), now_key))
    assert len(spec.matching.keys) == 1
    assert str(spec.matching.residual) == "R.key = int(NOW)"


def test_refuses_to_be_built_wrong() -> None:
    with pytest.raises(InternalError, match="kind OUTER"):
        WindowsJoin(R, S, "OUTER")
    with pytest.raises(InternalError, match=r"S\.key"):
        WindowsJoin(R, S, "INNER", (KEY[::-1],))
    with pytest.raises(InternalError, match="not a condition"):
        WindowsJoin(R, S, "INNER", (), reference("R.key"))
    with pytest.raises(InternalError, match="left side is a table"):
        WindowsTableJoin(R, S, "LEFT", table=0)
    with pytest.raises(InternalError, match="port 2"):
        WindowsTableJoin(R, S, "INNER", table=2)
