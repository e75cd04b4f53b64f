"""Runs pipelines without Spark: the rounds are planned, run and committed in this process, when a test says so."""

from __future__ import annotations

import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nilometer.errors import NilometerError, ResourceError
from nilometer.spark.faults import CarriedError, carried, found_in
from nilometer.spark.shared.changes import Change, ChangeWriter
from nilometer.spark.shared.pipeline_run import Take
from nilometer.spark.shared.round_work import _FLOWS, WHERE, RoundWork, run_and_leave, take_result
from nilometer.spark.shared.rounds import RoundResult

RUNS: list[InProcessRun] = []


class InProcessRun:
    """Stands in for spark/shared/pipeline_run.py."""

    progress = None

    def __init__(
        self,
        session: Callable[[], object],
        name: str,
        place: str,
        folder: Path,
        max_rows: int,
        parts: int,
        take: Take,
        task_rows: int | None,
        trigger: float,
    ) -> None:
        folder.mkdir(parents=True)
        self.name = name
        self.trigger = trigger
        self._session = session
        self._folder = folder
        self._options = {"place": place, "folder": str(folder), "max_rows": str(max_rows)}
        self._options |= {"parts": str(parts), "task_rows": "" if task_rows is None else str(task_rows)}
        self._options |= {"trigger": str(trigger)}
        self._changes = ChangeWriter(folder)
        self._take = take
        self._pumping = False
        self.work: RoundWork | None = None
        self.active = False
        self.rounds = 0
        self.failure: NilometerError | None = None
        self.hangs = False
        """Whether rounds are run and not taken, as if the owner had to wait for them."""
        self.late: list[RoundResult] = []

    def start(self) -> None:
        try:
            self._session()
        except ResourceError as error:
            self.failure = error
        if self.failure is None:
            self.active = True
            self.work = RoundWork(self._options)
            RUNS.append(self)

    @property
    def begun(self) -> bool:
        return self.work is not None

    def tell(self, change: Change) -> None:
        try:
            self._changes.add(change)
        except ResourceError as error:
            self.failure, self.active = error, False
        if self.active and not self._pumping and not self.hangs:
            # Whoever tells something may wait for the round: the one that is planned already may come before it.
            self.pump(2)

    def pump(self, most: int = sys.maxsize) -> None:
        """Run all rounds that are due, or so many of those that read."""
        self._pumping = True
        try:
            while self.active and self.work is not None:
                begin = self.rounds
                number = self.work.latest(begin, self._give)
                if number == begin or not most:
                    return
                most -= 1
                tasks = self.work.tasks(number)
                for task in pickle.loads(pickle.dumps(tasks)):
                    with carried(WHERE):
                        run_and_leave(task)
                if tasks and number % 5 == 4:
                    _FLOWS.clear()  # as if other processes ran the next tasks
                self._give(number, len(tasks))
        except NilometerError as error:
            self.failure, self.active = error, False
        except CarriedError as error:
            self.failure, self.active = found_in(str(error)), False
        finally:
            self._pumping = False

    def _give(self, number: int, tasks: int) -> None:
        self.rounds = number
        self.late.append(take_result(self._folder, number, tasks))
        while self.late and not self.hangs:
            self._take(self.late.pop(0))

    def stop(self) -> None:
        self.active = False
        if self in RUNS:
            RUNS.remove(self)
        shutil.rmtree(self._folder, ignore_errors=True)


def pump() -> bool:
    """Run all rounds that are due, in all pipelines. Returns False, to be asked by `Station.run`."""
    for run in list(RUNS):
        run.pump()
    return False


@contextmanager
def without_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pipelines run in this process."""
    nothing: Any = lambda _settings: None  # noqa: E731
    monkeypatch.setattr("nilometer.spark.session.spark_session", nothing)
    monkeypatch.setattr("nilometer.spark.shared.pipeline_run.PipelineRun", InProcessRun)
    monkeypatch.setattr("nilometer.live.station.require_spark", lambda: None)
    yield
    RUNS.clear()
