"""Runs query scripts in a pipeline, as standing queries: in this process, or in rounds of Spark.

A standing query never comes to the end of its streams. So `expect final` compares the pipeline with the reference's answer so
far, and the script then goes on with the reference's final one. Questions that have no standing form (over tables alone, or
answered at the end of all streams) are left to the reference.
"""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from nilometer.dataflow.part import frame_of
from nilometer.engine import Answer, Query
from nilometer.engine.spark import land_query
from nilometer.errors import BindError, NilometerError
from nilometer.log import LogDirectory, Offset
from nilometer.operators.frames import dtypes, empty
from nilometer.plan import physical
from nilometer.plan.reference import same_answer
from nilometer.spark.shared.changes import ChangeWriter, Join, Member
from nilometer.spark.shared.pipeline_run import PipelineRun
from nilometer.spark.shared.round_work import RoundWork, run_and_leave, take_result
from nilometer.spark.shared.rounds import RoundResult
from scripts import Run, Script, ScriptError

NAME = "q"
ROWS = 3
"""The readings of a round."""


class InPipeline(Run):
    """A script run in a pipeline of `parts` parts, every round in tasks if there are several. `session`: Spark's; None: in this
    process."""

    def __init__(self, script: Script, directory: Path, parts: int, session: Any = None) -> None:
        super().__init__(script, "reference", directory)
        self._parts, self._session = parts, session

    def _answer(self, asked: Any, finished: bool) -> Answer:
        query: Query = asked.query
        so_far = super()._answer(asked, False)
        frame = rows_in_pipeline(query, self._parts, self._session)
        whole = super()._answer(asked, True) if finished else so_far
        if frame is None:
            return whole
        found = Answer(query.schema, frame, whole.watermark, whole.ledgers)
        difference = same_answer(so_far.rows, found.rows)
        if difference is not None:
            where = f"{self.script.path}, so far, in {self._parts} parts"
            raise ScriptError(f"{where}: {difference}\n{query.text}")
        return whole if finished else found


def rows_in_pipeline(query: Query, parts: int, session: Any) -> pl.DataFrame | None:
    """The pipeline's answer to what has been fed; None: the question has no standing form."""
    streams = physical.streams_of(query.physical)
    if not streams:
        return None
    try:
        plan = query.standing().physical
    except BindError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        land_query(query, str(place))
        logs = {name: LogDirectory(place).log(stream) for name, stream in streams.items()}
        starts = {name: log.start for name, log in logs.items()}
        extents = query.extents
        sensors = {name: tuple(extents.sensors(stream)) for name, stream in streams.items()}
        tables = {name: extents.table(table) for name, table in physical.tables_of(plan).items()}
        member = Member(NAME, plan, sensors, skips=False, tables=tables)
        seen = _Seen({name: log.end for name, log in logs.items()})
        join = Join(1, streams, (member,), starts, starts)
        if session is None:
            _run_here(place, parts, join, seen)
        else:
            _run_on_spark(session, place, parts, join, seen)
    if seen.failure is not None:
        raise seen.failure
    return pl.concat([empty(dtypes(query.schema)), *seen.frames])


def _run_on_spark(session: Any, place: Path, parts: int, join: Join, seen: _Seen) -> None:
    run = PipelineRun(lambda: session, NAME, str(place), place / "run", ROWS, parts, seen.take, task_rows=0)
    run.tell(join)
    run.start()
    try:
        while not seen.over.wait(0.2):
            if not run.active:
                raise run.failure or AssertionError("the run has ended")
    finally:
        run.stop()


def _run_here(place: Path, parts: int, join: Join, seen: _Seen) -> None:
    folder = place / "run"
    folder.mkdir()
    ChangeWriter(folder).add(join)
    options = {"place": str(place), "folder": str(folder), "max_rows": str(ROWS), "parts": str(parts)}
    work = RoundWork(options | {"task_rows": "0", "trigger": "0"})

    def give(number: int, tasks: int) -> None:
        seen.take(take_result(folder, number, tasks))

    number = 0
    while (following := work.latest(number, give)) != number:
        number, tasks = following, work.tasks(following)
        for task in tasks:
            run_and_leave(task)
        give(number, len(tasks))


@dataclass
class _Seen:
    """What has come of the pipeline, until it has read the logs up to their ends."""

    ends: dict[str, Offset]
    frames: list[pl.DataFrame] = field(default_factory=list)
    failure: NilometerError | None = None
    over: threading.Event = field(default_factory=threading.Event)

    def take(self, result: RoundResult) -> None:
        self.failure = self.failure or result.failures.get(NAME)
        if self.failure is None:
            self.frames += [frame_of(rows) for rows in result.answers.get(NAME, ())]
        at = result.offsets.get(1)
        if self.failure is not None or (at is not None and all(at[n] >= end for n, end in self.ends.items())):
            self.over.set()
