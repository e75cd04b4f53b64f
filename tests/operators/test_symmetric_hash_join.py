"""The symmetric hash join against the W-join, of which it is a faster form, and what its cleaner gives up."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.expressions import Call, ColumnReference, Expression, Now
from nilometer.operators import frames
from nilometer.operators.logic import Progress, no_evaluations
from nilometer.operators.symmetric_hash_join import SymmetricHashJoin, SymmetricHashJoinLogic
from nilometer.operators.window_join import steps as window_join_steps
from nilometer.types import BOOLEAN, FLOAT, INT, STRING, TIME, Column, Schema
from operators.twins import Script, counted, few, scripts

LEFT = Schema((Column("A.key", INT), Column("A.kind", STRING), Column("A.level", FLOAT)))
RIGHT = Schema((Column("B.key", INT), Column("B.kind", STRING), Column("B.level", FLOAT)))


def column(name: str) -> ColumnReference:
    return ColumnReference(name, (LEFT if name[0] == "A" else RIGHT)[name].type)


PAIRS: dict[str, tuple[Expression, Expression]] = {
    name: (column(f"A.{name}"), column(f"B.{name}")) for name in ("key", "kind", "level")
}
LESS = Call("<", (column("A.level"), column("B.level")), BOOLEAN)
LOCAL = Call("is_null", (column("B.kind"),), BOOLEAN)


@given(
    scripts(LEFT, RIGHT),
    st.integers(0, 9),
    st.lists(st.sampled_from(sorted(PAIRS)), min_size=1, max_size=3, unique=True),
    st.sampled_from([None, LESS, LOCAL]),
)
@few
def test_like_the_window_join(
    script: Script, width: int, keys: list[str], predicate: Expression | None
) -> None:
    spec = SymmetricHashJoin(LEFT, RIGHT, width, tuple(PAIRS[name] for name in keys), predicate)
    naive = []
    for one in script.rows(0):
        for other in script.rows(1):
            places = ["key", "kind", "level"]
            equal = all(
                one.values[places.index(k)] is not None
                and one.values[places.index(k)] == other.values[places.index(k)]
                for k in keys
            )
            level = (one.values[2], other.values[2])
            true = {
                None: True,
                LESS: None not in level and level[0] < level[1],  # type: ignore[operator]
                LOCAL: other.values[1] is None,
            }[predicate]
            if equal and true and abs(one.time - other.time) <= width:
                time = max(one.time, other.time)
                naive.append((time, time, None, None, *one.values, *other.values))
    assert script.play(spec) == counted(naive) == script.play(spec.as_window_join)


def rows(schema: Schema, times: list[int], key: int = 1) -> pl.DataFrame:
    listed = [(t, t, 1, n, key, "a", 0.5) for n, t in enumerate(times)]
    return pl.DataFrame(listed, schema=frames.stream_dtypes(schema), orient="row")


def advance(logic: SymmetricHashJoinLogic, watermark: int) -> pl.DataFrame:
    return logic.advance(Progress(watermark, 0, (no_evaluations(),) * 2)).rows


@given(st.integers(1, 6), st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=6))
def test_the_cleaner_keeps_the_newest_and_counts_the_rest(most: int, batches: list[list[int]]) -> None:
    spec = SymmetricHashJoin(LEFT, RIGHT, 1_000, (PAIRS["key"],), most_rows=most)
    logic = spec.build()
    kept: list[int] = []
    shed = 0
    for batch in batches:
        logic.update(0, rows(LEFT, batch))
        advance(logic, -5)
        kept = sorted(kept + batch)
        if len(kept) > most:  # those of the time at which it becomes too much go together
            oldest = kept[len(kept) - most - 1]
            shed += sum(time <= oldest for time in kept)
            kept = [time for time in kept if time > oldest]
        assert sorted(logic._join.times().tolist()) == kept
        assert logic.shed == shed
    logic.update(1, rows(RIGHT, [9]))
    assert advance(logic, -5).height == len(kept)


def test_out_of_reach_is_no_loss() -> None:
    logic = SymmetricHashJoin(LEFT, RIGHT, 2, (PAIRS["key"],), most_rows=3).build()
    for time in range(20):
        logic.update(time % 2, rows(LEFT if time % 2 == 0 else RIGHT, [time]))
        advance(logic, time)
    assert logic.shed == 0
    assert logic._join.height <= 4


def test_a_table_is_a_few_panes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_join_steps, "PAIRS_AT_ONCE", 7)
    logic = SymmetricHashJoin(LEFT, RIGHT, 10_000, (PAIRS["key"],)).build()
    for time in range(200):
        logic.update(0, rows(LEFT, [time]))
        advance(logic, 0)
    assert len(logic.snapshot()) <= 8
    logic.update(1, rows(RIGHT, [5, 6]))
    assert advance(logic, 0).height == 400


def test_what_was_given_up_stays_so_after_a_restart() -> None:
    spec = SymmetricHashJoin(LEFT, RIGHT, 1_000, (PAIRS["key"],), most_rows=4)
    logic = spec.build()
    logic.update(0, rows(LEFT, [1, 2, 3]))
    advance(logic, -5)
    logic.snapshot()
    logic.update(0, rows(LEFT, [4, 5, 6]))
    advance(logic, -5)
    resumed = spec.build()
    resumed.restore(logic.snapshot())
    assert resumed.shed == 2
    resumed.update(1, rows(RIGHT, [9]))
    assert advance(resumed, -5).height == 4


def test_what_cannot_be_hashed_is_refused() -> None:
    now = (Call("-", (Now(TIME), column("A.key")), TIME), Call("-", (Now(TIME), column("B.key")), TIME))
    with pytest.raises(InternalError, match="key to hash"):
        SymmetricHashJoin(LEFT, RIGHT, 1, ())
    with pytest.raises(InternalError, match="key to hash"):
        SymmetricHashJoin(LEFT, RIGHT, 1, (now,))
    with pytest.raises(InternalError, match="room"):
        SymmetricHashJoin(LEFT, RIGHT, 1, (PAIRS["key"],), most_rows=0)
