"""The rounds of a pipeline, as they are planned (spark/shared/round_planner.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import nilometer
from nilometer.log import LogDirectory, Offset
from nilometer.plan import physical
from nilometer.spark.shared.changes import Change, ChangeWriter, Hold, Join, Leave, Member, Save
from nilometer.spark.shared.round_planner import RoundPlanner
from nilometer.spark.shared.rounds import Round

ROWS = 10


class Plans:
    """A stream with 100 readings, and a planner."""

    def __init__(self, folder: Path, trigger: float = 0.0) -> None:
        (folder / "schema.sql").write_text("CREATE STREAM air (id INT, v INT) PUSHED;")
        self.query = nilometer.connect(folder).sql("SELECT id, v FROM air WHERE v > 1").standing()
        self.streams = physical.streams_of(self.query.physical)
        self.log = LogDirectory(folder).log(self.streams["air"])
        self.begin = self.log.start
        self.pour(100)
        self.end = self.log.end
        self.run = folder / "run"
        self.run.mkdir()
        self.changes = ChangeWriter(self.run)
        self.now = 0.0
        self.planner = RoundPlanner(str(folder), self.run, ROWS, trigger, lambda: self.now)

    def pour(self, count: int) -> None:
        times = range(self.log.end.position, self.log.end.position + count)
        rows = pl.DataFrame({"time": list(times), "id": [7] * count, "v": [5] * count})
        self.log.append(rows.select(list(self.log.columns)))
        self.log.flush()

    def join(self, group: int, state_at: Offset, committed: Offset) -> None:
        member = Member(f"q{group}", self.query.physical)
        self.tell(Join(group, self.streams, (member,), {"air": state_at}, {"air": committed}))

    def tell(self, change: Change) -> None:
        self.changes.add(change)

    def next(self) -> Round:
        found = self.planner.next()
        assert found is not None
        self.planner.done(found)
        return found

    def rest(self) -> list[Round]:
        found = []
        while (one := self.planner.next()) is not None:
            self.planner.done(one)
            found.append(one)
        return found


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    return Plans(tmp_path)


def rows(round_: Round) -> Mapping[int, int]:
    return {one.group: sum(piece.rows for piece in one.pieces) for one in round_.stretches}


def test_a_group_reads_again_by_rounds_beside_the_others(plans: Plans) -> None:
    plans.join(1, plans.end, plans.end)
    plans.join(2, plans.begin, plans.end)
    first = plans.next()
    assert not rows(first)
    assert first.behind == {2}
    assert not first.merged
    plans.pour(5)
    second = plans.next()
    assert rows(second) == {1: 5, 2: ROWS}
    assert [one.again for one in second.stretches] == [False, True]
    # It has answered up to its commit, however far it has read again.
    assert second.offsets[2] == first.offsets[2] == {"air": plans.end}
    rest = plans.rest()
    assert sum(rows(one).get(2, 0) for one in rest) == 100 - ROWS + 5
    assert [one.behind for one in rest] == [{2}] * 8 + [set()] * 2
    assert rest[-1].merged == ((2, 1),)


def test_a_query_is_held_when_it_has_read_again(plans: Plans) -> None:
    plans.join(1, plans.begin, plans.end)
    plans.tell(Hold("q1"))
    plans.tell(Save())
    rounds = plans.rest()
    assert [type(change) for change in rounds[0].changes] == [Join, Save]
    assert [type(change) for change in rounds[-1].changes] == [Hold]
    assert len(rounds) == 12
    assert not rounds[-1].behind
    assert not rows(rounds[-1])
    plans.pour(5)
    assert plans.rest() == []


def test_a_query_that_leaves_before_it_could_be_held_is_not(plans: Plans) -> None:
    plans.join(1, plans.begin, plans.end)
    plans.tell(Hold("q1"))
    plans.tell(Leave("q1"))
    (round_,) = plans.rest()
    assert [type(change) for change in round_.changes] == [Join, Leave]
    assert round_.behind == {1}


def test_changes_and_what_is_read_again_do_not_wait_for_the_trigger(tmp_path: Path) -> None:
    plans = Plans(tmp_path, trigger=60.0)
    plans.join(1, plans.end, plans.end)
    plans.join(2, plans.begin, plans.end)
    plans.pour(20)
    rounds = plans.rest()
    assert sum(rows(one).get(2, 0) for one in rounds) == 100
    assert sum(rows(one).get(1, 0) for one in rounds) == ROWS  # the first interval has begun
    plans.now = 59.0
    plans.tell(Save())
    assert [one.changes for one in plans.rest()] == [(Save(),)]
    plans.now = 60.0
    assert sum(rows(one).get(1, 0) for one in plans.rest()) == ROWS
