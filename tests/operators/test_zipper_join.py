"""The zipper join against pairing tuples one by one."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.expressions import ColumnReference
from nilometer.operators.zipper_join import ZipperJoin
from nilometer.types import FLOAT, INT, STRING, Column, Schema
from operators.twins import Row, Script, counted, few, scripts

LEFT = Schema((Column("A.key", INT), Column("A.kind", STRING)))
RIGHT = Schema((Column("B.key", INT), Column("B.level", FLOAT)))
KEYS = ((ColumnReference("A.key", INT), ColumnReference("B.key", INT)),)


def naive(script: Script, spec: ZipperJoin) -> list[Any]:
    groups: dict[Any, tuple[list[Row], list[Row]]] = {}
    for port in (0, 1):
        for number, row in enumerate(sorted(script.rows(port), key=lambda row: row.order)):
            last = row.time // spec.interval * spec.interval + spec.interval - 1
            key = row.values[0] if spec.keys else "all"
            # A NULL key is equal to nothing, not even to another.
            place = (last, key if key is not None else (port, number))
            groups.setdefault(place, ([], []))[port].append(row)
    result = []
    for (last, _), (left, right) in groups.items():
        if last < script.watermark:
            for one, other in zip_longest(left, right):
                values = (*(one.values if one else (None, None)), *(other.values if other else (None, None)))
                result.append((last, last, None, None, *values))
    return result


@given(scripts(LEFT, RIGHT), st.integers(1, 7), st.booleans())
@few
def test_like_pairing_one_by_one(script: Script, interval: int, keyed: bool) -> None:
    spec = ZipperJoin(LEFT, RIGHT, interval, KEYS if keyed else ())
    assert script.play(spec) == counted(naive(script, spec))


def test_an_interval_has_a_length() -> None:
    with pytest.raises(InternalError, match="interval"):
        ZipperJoin(LEFT, RIGHT, 0)
