"""ASOF JOIN against a look at every right tuple."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.expressions import Call, ColumnReference, Literal
from nilometer.operators.asof_join import AsofJoin
from nilometer.types import INT, STRING, Column, Schema
from operators.twins import Row, Script, counted, few, scripts

R = Schema((Column("R.key", INT), Column("R.kind", STRING)))
S = Schema((Column("S.key", INT), Column("S.kind", STRING), Column("S.value", INT)))

KEY = (ColumnReference("R.key", INT), ColumnReference("S.key", INT))
KIND = (ColumnReference("R.kind", STRING), ColumnReference("S.kind", STRING))
SHIFTED = (Call("+", (KEY[0], Literal(1, INT)), INT), KEY[1])


def naive(script: Script, keys: tuple[Any, ...], within: int | None) -> list[Any]:
    result = []
    for left in script.rows(0):
        if left.time >= script.watermark:
            continue
        earlier = [right for right in script.rows(1) if right.time <= left.time and equal(keys, left, right)]
        found = max(earlier, key=lambda row: row.order, default=None)
        if found is not None and within is not None and left.time - found.time > within:
            found = None
        values = found.values if found is not None else (None, None, None)
        result.append((left.time, left.time, left.id, left.position, *left.values, *values))
    return result


def equal(keys: tuple[Any, ...], left: Row, right: Row) -> bool:
    for key in keys:
        column = 1 if key is KIND else 0
        mine, theirs = left.values[column], right.values[column]
        if mine is None or theirs is None or mine + (1 if key is SHIFTED else type(mine)()) != theirs:
            return False
    return True


@few
@given(
    scripts(R, S),
    st.sampled_from([(), (KEY,), (KIND,), (SHIFTED,), (KEY, KIND)]),
    st.sampled_from([None, 0, 2, 6]),
)
def test_asof_join_finds_the_latest(script: Script, keys: tuple[Any, ...], within: int | None) -> None:
    assert script.play(AsofJoin(R, S, keys, within)) == counted(naive(script, keys, within))


def test_refuses_to_be_built_wrong() -> None:
    with pytest.raises(InternalError, match="negative"):
        AsofJoin(R, S, (KEY,), -1)
    with pytest.raises(InternalError, match=r"S\.key"):
        AsofJoin(R, S, (KEY[::-1],))
