"""Pipelines that read again for long: what is done meanwhile is saved for the tasks, and counts as progress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from live.pipelines.in_process import RUNS, pump, without_spark
from live.pipelines.test_pipelines import check, field, passing, rebuild, write
from nilometer.errors import ResourceError
from nilometer.live.outside import Outside
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.spark.running import PROCESS_DIED
from nilometer.spark.shared.round_work import _FLOWS


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    _FLOWS.clear()
    with without_spark(monkeypatch):
        yield


def test_tasks_are_given_few_rounds_while_a_state_is_made_again(tmp_path: Path) -> None:
    """Minutes pass between two rounds. Nothing new is read, so nothing but the state that is made again moves."""
    database = field(tmp_path, ["means", "before"])
    (tmp_path / "nilometer.toml").write_text("[spark]\nmax_rows = 7\nparts = 2\ntask_rows = 6\n")
    write(tmp_path, 0, 40)
    with Station(database, tmp_path, None, Outside(clock=passing())) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        station.run(pump)
        rebuild(station)
        kept, before = list[int](), station.queries["before"]
        while not before.ledger.read:
            station.step()
            RUNS[0].pump(1)
            assert RUNS[0].work is not None
            kept.append(len(RUNS[0].work._rounds))
        assert len(kept) > 5
        assert max(kept) <= 3, kept
        assert before.ledger.read == 80
    check(database, ["means"])


@pytest.mark.parametrize(
    ("until", "divided"),
    [(range(1, 9), False), ([2] * 8, True)],
    ids=["each time later", "at the same place"],
)
def test_a_run_that_comes_further_each_time_is_not_divided(
    tmp_path: Path, until: Sequence[int], divided: bool
) -> None:
    """A process of it dies in hours of reading again, now and then. If it always dies at the same reading, a query is to
    blame."""
    database = field(tmp_path, ["hot", "before"])
    write(tmp_path, 0, 40)
    with Station(database, tmp_path, None, Outside(clock=passing())) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        station.run(pump)
        rebuild(station)
        for rounds in until:
            station.step()
            RUNS[0].pump(rounds)
            RUNS[0].failure, RUNS[0].active = ResourceError(PROCESS_DIED), False
        assert any(live.apart for live in station.queries.values()) is divided
        for _ in range(100):
            station.step()
            pump()
        assert station.queries["before"].ledger.read == 80
    check(database, ["hot"])
