"""A query that is set apart falls behind alone, catches up from the log, and answers as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from live.test_shared_commits import answers, field, install, run
from nilometer.live.apart import Apart, dearest
from nilometer.live.groups import ReaderGroup
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.types import SECOND


def slow_clock() -> Callable[[], int]:
    """A steady clock by which everything takes a fifth of a second."""
    now = [0]

    def clock() -> int:
        now[0] += SECOND // 5
        return now[0]

    return clock


def test_the_dearest_is_found_only_where_it_holds_up_others() -> None:
    assert dearest({"a": 990, "b": 0}, 1_000, 1_000) is None  # the other is not a hundred times cheaper
    assert dearest({"a": 999, "b": 0}, 1_000, 1_000) == "a"
    assert dearest({"a": 999}, 1_000, 1_000) is None  # nobody is held up
    assert dearest({"a": 999, "b": 0}, 1_000, 10_000) is None  # there is time enough
    assert dearest({"a": 400, "b": 0, "c": 0}, 1_000, 1_000) is None  # what they share is dear


def test_times_are_compared_since_the_last_look() -> None:
    now, times = [0], {"a": 5 * SECOND, "b": 0}
    apart = Apart(lambda: now[0], lambda: dict(times))
    now[0] = SECOND
    assert apart.ran(SECOND) == "a"
    times["b"] = SECOND
    now[0] = 2 * SECOND
    assert apart.ran(SECOND) == "b"


def test_a_group_apart_rests_and_its_rounds_shrink() -> None:
    now = [0]
    apart = Apart(lambda: now[0], dict)
    group = ReaderGroup("g", {}, {}, None, apart=True, round_rows=1024)  # type: ignore[arg-type]
    now[0] = SECOND
    apart.rested(group, SECOND)
    assert not apart.due(group)
    assert group.round_rows == 512
    now[0] = 4 * SECOND
    assert apart.due(group)
    apart.rested(group, 0)
    assert group.round_rows == 1024


@pytest.mark.parametrize("crash", [False, True])
def test_a_query_apart_is_behind_and_loses_nothing(
    tmp_path: Path, crash: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nilometer.live.apart.RESTS", 100)
    database = field(tmp_path / "whole")
    run(database, tmp_path / "whole")
    expected = answers(database)
    folder = tmp_path / "apart"
    database = field(folder)
    station = Station(database, folder, None, Outside(steady=slow_clock()))
    install(database, station)
    for _ in range(3):
        station.step()
    station.set_apart("q2")
    assert "runs apart" in station.reports.analysis("q2")
    assert "reader of its own" in (station.reports.metrics("q2").trouble or "")
    behind = False
    for _ in range(40):
        station.step()
        own, others = station.queries["q2"].offsets, station.queries["q0"].offsets
        behind |= own["air"] < others["air"]
        if crash and behind:
            break
    assert behind
    if crash:
        station.abandon()
        run(database, folder)
    else:
        station.run(lambda: False)
        station.close()
    assert answers(database) == expected
