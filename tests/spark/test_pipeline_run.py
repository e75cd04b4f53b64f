"""A run of a pipeline whose Java starts slowly, does not start, or is killed (spark/shared/pipeline_run.py). No Spark is needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from log.logs import no_space
from nilometer.errors import NilometerError, ResourceError
from nilometer.spark.java_ended import JAVA_ENDED, asking_java
from nilometer.spark.shared.changes import Save
from nilometer.spark.shared.hand_over import Giver
from nilometer.spark.shared.pipeline_run import PipelineRun
from nilometer.spark.shared.rounds import RoundResult

PATIENCE = 60.0


class Query:
    """Stands in for PySpark's StreamingQuery. `error`: what every question meets from now on. Without `goes_on`, Java stands
    still."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.reason: str | None = None
        self.stopped = False
        self.goes_on, self.waited_for, self.watched = threading.Event(), threading.Event(), threading.Event()
        self.goes_on.set()

    def _asked(self) -> None:
        if not self.goes_on.is_set():
            self.waited_for.set()
            assert self.goes_on.wait(PATIENCE)
        if self.error is not None:
            raise self.error

    @property
    def isActive(self) -> bool:
        self.watched.set()
        self._asked()
        return not self.stopped

    @property
    def lastProgress(self) -> None:
        self._asked()

    @property
    def recentProgress(self) -> list[Any]:
        self._asked()
        return []

    def exception(self) -> str | None:
        self._asked()
        return self.reason

    def stop(self) -> None:
        self._asked()
        self.stopped = True


class Session:
    """Stands in for a session: whatever is asked for on the way to the query is itself."""

    def __init__(self, query: Query) -> None:
        self.query, self.started = query, threading.Event()

    def __getattr__(self, _: str) -> Session:
        return self

    def __call__(self, *_: object, **__: object) -> Session:
        return self

    def start(self) -> Query:
        self.started.set()
        return self.query


def run_of(folder: Path, session: Callable[[], Any], taken: list[RoundResult] | None = None) -> PipelineRun:
    found = [] if taken is None else taken
    return PipelineRun(session, "main", str(folder), folder / "run", 100, 1, found.append)


def running(folder: Path) -> tuple[PipelineRun, Query]:
    session = Session(query := Query())
    run = run_of(folder, lambda: session)
    run.start()
    assert query.watched.wait(PATIENCE)
    assert run.active
    return run, query


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o17.isActive"),
    ],
    ids=["refused", "empty", "unknown"],
)
def test_a_run_whose_java_was_killed_has_failed(tmp_path: Path, error: Exception) -> None:
    run, query = running(tmp_path)
    query.error = error
    run._watcher.join(PATIENCE)
    assert not run.active
    assert isinstance(run.failure, ResourceError)
    assert run.failure.message == JAVA_ENDED
    assert (run.done, run.progress, run.reports) == (0, None, [])
    run.stop()
    assert not (tmp_path / "run").exists()
    assert run.failure is not None


@pytest.mark.parametrize("ask", [lambda run: run.failure, lambda run: run.done, lambda run: run.stop()])
def test_whoever_asks_first_meets_no_error_of_py4j(tmp_path: Path, ask: Callable[[PipelineRun], Any]) -> None:
    run, query = running(tmp_path)
    query.error = ConnectionRefusedError()
    ask(run)
    run._watcher.join(PATIENCE)
    assert not run.active
    run.stop()


def test_nobody_who_asks_about_a_run_waits_for_a_java_that_stands_still(tmp_path: Path) -> None:
    """Only the thread that watches it waits. It is told what has ended the run when Java goes on."""
    run, query = running(tmp_path)
    query.goes_on.clear()
    assert query.waited_for.wait(PATIENCE)
    assert run.active
    assert run.failure is None
    query.stopped, query.reason = True, "a task failed"
    assert run.active
    query.goes_on.set()
    run._watcher.join(PATIENCE)
    assert not run.active
    assert run.failure is not None
    assert "a task failed" in str(run.failure.message) + str(run.failure.detail)
    run.stop()


def test_the_next_run_asks_for_a_session_although_java_is_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dead:
        def poll(self) -> int | None:
            return -9

    process: list[Dead | None] = [Dead()]
    monkeypatch.setattr("nilometer.spark.java_ended.java_process", lambda: process[0])
    session = Session(Query())

    def anew() -> Session:
        process[0] = None
        return session

    run = run_of(tmp_path, anew)
    run.start()
    assert session.started.wait(PATIENCE)
    assert run.active
    run.stop()


def test_nobody_waits_for_java_to_start(tmp_path: Path) -> None:
    session, there = Session(Query()), threading.Event()

    def slowly() -> Session:
        assert there.wait(PATIENCE)
        return session

    run = run_of(tmp_path, slowly)
    run.start()
    assert run.active
    assert not run.begun
    there.set()
    assert session.started.wait(PATIENCE)
    run.stop()
    assert run.begun
    assert session.query.stopped


def test_nobody_waits_for_java_to_stop_a_run(tmp_path: Path) -> None:
    session, there = Session(Query()), threading.Event()

    def slowly() -> Session:
        assert there.wait(PATIENCE)
        return session

    run = run_of(tmp_path, slowly)
    run.start()
    run.stop()
    assert not run.active
    run.stop()
    there.set()
    run._thread.join(PATIENCE)
    assert not session.started.is_set()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "error", [ResourceError("Spark's Java did not start"), ConnectionRefusedError(), RuntimeError("odd")]
)
def test_a_java_that_does_not_start_is_the_failure_of_the_run(tmp_path: Path, error: Exception) -> None:
    def none() -> Session:
        raise error

    run = run_of(tmp_path, none)
    run.start()
    run._thread.join(PATIENCE)
    assert not run.active
    assert not run.begun
    assert isinstance(run.failure, ResourceError), "it passes"
    run.stop()


def test_a_round_that_an_orphan_finishes_late_is_not_taken(tmp_path: Path) -> None:
    taken: list[RoundResult] = []
    session = Session(Query())
    run = run_of(tmp_path, lambda: session, taken)
    run.start()
    assert session.started.wait(PATIENCE)
    orphan = Giver(tmp_path / "run")
    session.query.error = ConnectionRefusedError()
    run.stop()
    with pytest.raises(ResourceError, match="ended the run"):
        orphan.give(1, tasks=0)
    assert not taken


def test_a_change_that_finds_no_space_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path, _to: Path) -> None:
        raise no_space()

    run, query = running(tmp_path)
    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", full)
        run.tell(Save())
    assert not run.active
    assert isinstance(run.failure, ResourceError)
    assert "the disk is full" in run.failure.message
    run.stop()
    assert query.stopped


def test_what_java_says_itself_is_not_its_end() -> None:
    with pytest.raises(Py4JError, match="does not exist"), asking_java():
        raise Py4JError("An error occurred. Trace:\npy4j.Py4JException: Method odd([]) does not exist")
    with pytest.raises(NilometerError, match="ours"), asking_java():
        raise NilometerError("ours")
