"""A fused row-window aggregate equals the aggregate above the row window."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.expressions import Aggregate as Item
from nilometer.expressions import Call, ColumnReference, Expression, Literal
from nilometer.operators.aggregate import Aggregate
from nilometer.operators.evaluate.evaluate import apply_predicate
from nilometer.operators.logic import Progress
from nilometer.operators.row_window import RowWindow
from nilometer.operators.row_window_aggregate import RowWindowAggregate
from nilometer.plan import scalar
from nilometer.types import BOOLEAN, FLOAT, INT, STRING
from operators.streams import SCHEMA, Log, Round, Row, drive, evaluations, fewer, logs, order, rows, ways

WHOLE, REAL = ColumnReference("i", INT), ColumnReference("f", FLOAT)
ITEMS = (
    ("n", Item("count", None, False, INT)),
    ("s", Item("sum", WHOLE, False, INT)),
    ("v", Item("variance", REAL, False, FLOAT)),
    ("l", Item("min", REAL, False, FLOAT)),
)
MEDIAN = (("m", Item("median", REAL, False, FLOAT)),)
TEXT = (("k", ColumnReference("s", STRING)),)
POSITIVE = Call(">", (WHOLE, Literal(0, INT)), BOOLEAN)


@st.composite
def windows(draw: st.DrawFn) -> tuple[int | None, int, int]:
    end = draw(st.integers(0, 3))
    length = draw(st.one_of(st.none(), st.integers(0, 8)))
    return None if length is None else end + length, end, draw(st.integers(1, 5))


def materialised(window: tuple[int | None, int, int], log: Log, **others: Any) -> list[tuple[Any, ...]]:
    logic = Aggregate(others["keys"], others["items"]).build()
    answers: list[tuple[Any, ...]] = []
    for output in drive(RowWindow(SCHEMA, *window), log):
        logic.update(0, apply_predicate(output.rows, others["predicate"]))
        answers += logic.advance(Progress(0, None, (output.evaluations,))).rows.rows()
    return sorted(answers, key=order)


@fewer
@given(
    windows(),
    logs(unplaced=True),
    st.sampled_from([(), TEXT]),
    st.sampled_from([ITEMS, MEDIAN]),
    st.sampled_from([None, POSITIVE]),
)
def test_fused(
    window: tuple[int | None, int, int], log: Log, keys: Any, items: Any, predicate: Expression | None
) -> None:
    others = {"keys": keys, "items": items, "predicate": predicate}
    expected = materialised(window, log, **others)
    listed = evaluations(drive(RowWindow(SCHEMA, *window), log))
    for driven, restart in ways(log):
        outputs = drive(RowWindowAggregate(SCHEMA, *window, **others), driven, restart=restart)
        assert evaluations(outputs) == listed
        given_ = rows(outputs)
        assert len(given_) == len(expected)
        for one, other in zip(given_, expected, strict=True):
            for left, right in zip(one, other, strict=True):
                assert left == right or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("base", [10**9, 10**12, 10**15])
@pytest.mark.parametrize("function", ["variance", "stdev"])
def test_variance_far_from_zero(base: int, function: str) -> None:
    values = [base + n * n % 11 for n in range(30)]
    batch = tuple(Row(n, n, 1, n, 4 * v + 1, v + n % 3 / 8, None) for n, v in enumerate(values))
    log = Log((Round(batch[:13], 13), Round(batch[13:], 30)))
    items = (("i", Item(function, WHOLE, False, FLOAT)), ("f", Item(function, REAL, False, FLOAT)))
    window = RowWindowAggregate(SCHEMA, 6, 0, 1, items=items)
    for restart in (False, True):
        for answer in rows(drive(window, log, restart=restart)):
            content = batch[max(answer[0] - 7, 0) : answer[0]]
            for found, column in zip(answer[2:], ("i", "f"), strict=True):
                expected = scalar.aggregate(function, False, [getattr(row, column) for row in content])
                assert found == (None if expected is None else pytest.approx(expected, rel=1e-12))


def test_many_rows_at_once_are_evaluated_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = tuple(Row(n, n, 1, n, n, n / 8, None) for n in range(25))
    window = RowWindowAggregate(SCHEMA, 6, 0, 1, items=ITEMS)
    log = Log((Round(batch[:3], 3), Round(batch[3:], 25)))
    expected = rows(drive(window, log))
    monkeypatch.setattr("nilometer.operators.window_scope.MOST_EVALUATIONS", 4)
    monkeypatch.setattr("nilometer.operators.row_window_aggregate.MOST_EVALUATIONS", 4)
    assert rows(drive(window, log)) == expected


def test_wrong_windows_cannot_be_built() -> None:
    with pytest.raises(InternalError):
        RowWindowAggregate(SCHEMA, 1, 2, 1)
