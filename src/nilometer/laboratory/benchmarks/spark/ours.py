"""Our side of `bench spark`: runs a question over the logs of a data directory in a pipeline on Spark, to their end.

The sink is the result log: every micro-batch's answers are one commit, made durable (fsync) before Spark goes on. Every ten
seconds the state is saved, as a standing query's is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import frame_of
from nilometer.engine import connect
from nilometer.errors import NilometerError
from nilometer.live.standing import CHECKPOINT_EVERY
from nilometer.live.state_files import PLACE as STATES
from nilometer.live.state_files import SavedState, StateFiles
from nilometer.log import LogDirectory, Offset
from nilometer.log.local_files import LocalFiles
from nilometer.log.results.result_log import Commit, ResultLog
from nilometer.operators.frames import dtypes, empty
from nilometer.plan import physical
from nilometer.spark.shared.changes import Join, Member, Save
from nilometer.spark.shared.pipeline_run import PipelineRun
from nilometer.spark.shared.rounds import RoundResult
from nilometer.types import SECOND

NAME = "bench"
UNLIMITED = 1 << 40
PATIENCE = 10.0


@dataclass(frozen=True)
class OurRun:
    """The seconds of a run, and Spark's progress report for each micro-batch."""

    seconds: float
    progress: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Answered:
    """The answers of a micro-batch, and the bytes of the state after it in memory and on disk, if they were asked for."""

    rows: tuple[pl.DataFrame, ...]
    state_bytes: int = 0
    disk_bytes: int = 0


Watch = Callable[[Answered], None]


class OurQuery:
    """A question that runs in `place`, an empty folder: `place/answers` is its result log. `watch` is called for every
    micro-batch once its answers are durable; with `states`, it is called with the size of the state after each. The query runs
    in `parts` parts, where Spark plans it."""

    def __init__(
        self,
        session: Any,
        directory: Path,
        question: str,
        rows: int | None,
        place: Path,
        *,
        watch: Watch | None = None,
        states: bool = False,
        parts: int = 1,
    ) -> None:
        database = connect(directory)
        query = database.sql(question).standing()
        self._columns = dtypes(query.schema)
        self._log = ResultLog(LocalFiles(place / "answers"), self._columns)
        self._files = StateFiles(place)
        self._place = place
        self._number = self._round = 0
        self._watch, self._states = watch, states
        streams = physical.streams_of(query.physical)
        self._logs = {name: LogDirectory(directory).log(stream) for name, stream in streams.items()}
        self._offsets: Mapping[str, Offset] = {name: log.start for name, log in self._logs.items()}
        self._moved = threading.Condition()
        self._saved_at = time.monotonic()
        folder = place / "run"
        self._run = PipelineRun(
            lambda: session, NAME, str(directory), folder, rows or UNLIMITED, parts, self._commit, task_rows=0
        )
        sensors = {name: tuple(database.catalog.sensors(stream.name)) for name, stream in streams.items()}
        member = Member(NAME, query.physical, sensors)
        self._run.tell(Join(1, streams, (member,), self._offsets, self._offsets))

    def start(self) -> None:
        """Start the query."""
        self._run.start()

    def catch_up(self) -> None:
        """Wait until it has answered for everything that is in the logs now."""
        ends = {name: log.end for name, log in self._logs.items()}
        with self._moved:
            while any(self._offsets[name] < end for name, end in ends.items()):
                if not self._run.active:
                    raise self._run.failure or NilometerError("the run has ended")
                self._moved.wait(0.5)

    def stop(self) -> None:
        """Stop the query."""
        self._run.stop()
        self._log.close()

    def wait_for_reports(self) -> None:
        """Wait until Spark has reported on all that it has read: it does so a little after the commit."""
        until = time.monotonic() + PATIENCE
        while self._run.done < self._round and time.monotonic() < until:
            time.sleep(0.01)

    @property
    def progress(self) -> tuple[Mapping[str, Any], ...]:
        """Spark's progress reports for the last hundred micro-batches. A micro-batch that runs where it is planned has no
        input as Spark counts it."""
        # A report without `addBatch` says that there was nothing to do.
        return tuple(
            dict(each) | {"numInputRows": int("addBatch" in each["durationMs"])} for each in self._run.reports
        )

    def _commit(self, result: RoundResult) -> None:
        if result.failures:
            raise next(iter(result.failures.values()))
        moved = result.offsets[1] != self._offsets
        frames = tuple(frame_of(rows) for rows in result.answers.get(NAME, ()))
        if moved:
            self._round = result.number
            rows = pl.concat(frames) if frames else empty(self._columns)
            self._log.commit(rows, Commit(NAME, self._number, dict(result.offsets[1]), QueryLedger()))
            self._number += 1
            if self._watch is not None and not self._states:
                self._watch(Answered(frames))
        if result.panes is not None:
            panes = result.panes[NAME]
            self._files.save({NAME: SavedState(NAME, {}, dict(self._offsets), self._number, panes)}, [NAME])
            if self._watch is not None and self._states:
                held = sum(len(pane) for part in panes.values() for pane in part.values())
                kept = (self._place / STATES).rglob("*")
                self._watch(Answered((), held, sum(file.stat().st_size for file in kept if file.is_file())))
        due = time.monotonic() - self._saved_at >= CHECKPOINT_EVERY / SECOND
        if moved and (self._states or due):
            self._saved_at = time.monotonic()
            self._run.tell(Save())
        with self._moved:
            self._offsets = result.offsets[1]
            self._moved.notify_all()


def run(
    session: Any,
    directory: Path,
    question: str,
    rows: int,
    place: Path,
    watch: Watch | None = None,
    *,
    states: bool = False,
    parts: int = 1,
) -> OurRun:
    """Run all micro-batches of `rows` rows, from the text of the question to the last commit."""
    started = time.perf_counter()
    query = OurQuery(session, directory, question, rows, place, watch=watch, states=states, parts=parts)
    query.start()
    try:
        query.catch_up()
        seconds = time.perf_counter() - started
        query.wait_for_reports()
        return OurRun(seconds, query.progress)
    finally:
        query.stop()


def answers(place: Path) -> pl.DataFrame:
    """The answers of a run."""
    log = ResultLog(LocalFiles(place / "answers"))
    return pl.concat([empty(log.columns), *log.answers()])
