"""Clients that ask for a query's plan with its work, while the query ends in one way or another: none waits in vain."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from live.pipelines.in_process import RUNS, pump, without_spark
from live.pipelines.test_pipelines import field, passing, write
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.live.outside import Outside
from nilometer.live.pipelines.pipeline import Pipeline
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.spark.java_ended import JAVA_ENDED
from nilometer.spark.shared.graph_flow import GraphFlow
from nilometer.spark.shared.round_work import _FLOWS
from nilometer.spark.shared.rounds import Round, RoundResult

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    _FLOWS.clear()
    with without_spark(monkeypatch):
        yield


def stop(station: Station) -> None:
    station.remove("hot")


def fail(station: Station) -> None:
    """A row without a value ends the query, not the run."""
    RUNS[0].hangs = False
    pump()
    station.step()


def begin_again(station: Station) -> None:
    RUNS[0].failure, RUNS[0].active = ResourceError(JAVA_ENDED), False
    station.step()
    assert RUNS[0].active


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (stop, "'hot' was stopped meanwhile"),
        (fail, "'hot' was stopped by an error: the disk of the sensor is odd"),
        (begin_again, "the run of 'hot' began again meanwhile"),
    ],
)
def test_whoever_asks_for_an_analysis_is_told_why_none_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: Callable[[Station], None], message: str
) -> None:
    monkeypatch.setattr("nilometer.live.pipelines.pipeline.PATIENCE", 30.0)
    monkeypatch.setattr("nilometer.live.pipelines.pipeline.LEAVE_PATIENCE", 0)
    run = GraphFlow.run

    def failing(flow: GraphFlow, round_: Round) -> RoundResult:
        result = run(flow, round_)
        if ends is fail and result.analyses:
            result.analyses.clear()
            result.failures["hot"] = ConfigurationError("the disk of the sensor is odd")
        return result

    database = field(tmp_path, ["hot", "means"])
    write(tmp_path, 0, 12)
    with (
        Station(database, tmp_path, None, Outside(clock=passing())) as station,
        ThreadPoolExecutor(1) as client,
    ):
        Roster(station, database.catalog.queries(), on="spark").begin()
        station.run(pump)
        assert "pipeline main, 2 queries" in station.reports.analysis("hot")
        monkeypatch.setattr(GraphFlow, "run", failing)
        RUNS[0].hangs = True
        answer = client.submit(station.reports.ask_analysis("hot"))
        ends(station)
        with pytest.raises(ConfigurationError) as error:
            answer.result(PATIENCE)
    assert error.value.message == message
    assert error.value.hint is None or "later" not in error.value.hint


def test_whoever_waits_for_java_keeps_nobody_from_taking_a_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java stands still for long, and the client that asks it holds nothing that a round needs."""
    database = field(tmp_path, ["hot"])
    write(tmp_path, 0, 12)
    asked, goes_on = threading.Event(), threading.Event()
    client = threading.current_thread()
    own = Pipeline.active.fget
    assert own is not None

    def active(pipeline: Pipeline) -> bool:
        if threading.current_thread() is client:
            return bool(own(pipeline))
        asked.set()
        assert goes_on.wait(PATIENCE)
        return True

    with Station(database, tmp_path) as station, ThreadPoolExecutor(1) as clients:
        Roster(station, database.catalog.queries(), on="spark").begin()
        RUNS[0].hangs = True
        answer = station.reports.ask_analysis("hot")
        with monkeypatch.context() as still:
            still.setattr(Pipeline, "active", property(active))
            text = clients.submit(answer)
            assert asked.wait(PATIENCE)
            found = station._pipelines.get("hot")
            assert found is not None
            free = found.pipeline._told.acquire(timeout=0)
            goes_on.set()
            assert free
            found.pipeline._told.release()
            RUNS[0].hangs = False
            pump()
            assert "pipeline main" in text.result(PATIENCE)
