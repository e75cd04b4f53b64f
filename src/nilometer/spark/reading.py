"""The work of a source task: records -> door -> reader fragments -> buckets -> packets.

Everything that needs no state runs here, vectorised, before Spark sees a row: lateness, selection,
projection, joins with stored tables. The law: the division of a micro-batch among tasks changes no answer;
each task begins with the watermark that the readings before it have raised (places.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from nilometer.dataflow.dead_rows import lines_of
from nilometer.dataflow.door import Door
from nilometer.dataflow.ledger import Ledger
from nilometer.log import failpoints
from nilometer.operators.frames import dtypes, empty
from nilometer.operators.logic import Output
from nilometer.spark.admission import Piece
from nilometer.spark.counts import Counts
from nilometer.spark.job import Job
from nilometer.spark.layout import BucketFlow, Clock, Fragment, divide, each_once
from nilometer.spark.layout.work import since
from nilometer.spark.packing import ANSWER, REPORT, Packet, addresses
from nilometer.spark.places import LogPlace, Places
from nilometer.spark.records import runs_of
from nilometer.types import Schema

pass_by = failpoints.from_environment("source")
"""Fails where a test asks for it: before_read, during_read, after_read (NILOMETER_FAILPOINT)."""


@dataclass(frozen=True)
class Task:
    """A part of a micro-batch, which reads up to `end`. The first task also sends the clock to every bucket."""

    number: int
    clock: Clock
    pieces: tuple[Piece, ...]
    end: Places


def packets_of(job: Job, task: Task, flows: dict[int, BucketFlow]) -> Iterator[Packet]:
    """The packets of a task. `flows` keeps the flows of the reader fragments for the next micro-batch of this
    process.
    """
    pass_by("before_read")
    if task.number == 0:
        for target, bucket in addresses(job.layout):
            if not _fed_by_others(job, target):
                yield Packet(-1, target, bucket, (), task.clock)
        for fragment in job.readers_of_tables:
            found = _prepared(job, fragment, {}, {}, task.clock)
            yield from _to_target(job, fragment, found.rows, (), task.clock)
    counts = Counts()
    told: dict[int, list[pl.DataFrame]] = {}
    for number, piece in enumerate(task.pieces):
        admitted, ledger = admitted_rows(job, piece)
        counts += Counts(late_of={piece.stream: ledger.late})
        pass_by("during_read")
        for fragment in job.readers[piece.stream]:
            before = flows[fragment.number].work if fragment.number in flows else {}
            found = _prepared(job, fragment, flows, {piece.stream: admitted}, task.clock)
            counts += Counts(work=since(before, flows[fragment.number].work))
            # Not the rows sent on, which may be partial results of many rows.
            flow = flows[fragment.number]
            # Of the rows that were set aside, some had passed, and were to be combined.
            failed = sum(letter.count for letter in flow.letters)
            passed = flow.passed - sum(letter.count for letter in flow.letters if letter.derived)
            filtered = admitted.height - passed - failed
            counts += Counts(ledger.received, passed, filtered, ledger.late)
            counts += Counts(failed=failed, letters=lines_of(flow.letters))
            yield from _to_target(job, fragment, found.rows, (task.number, number), task.clock)
            if fragment.told and found.evaluations.height:
                told.setdefault(fragment.number, []).append(found.evaluations)
    for place, ticks in told.items():
        order = (task.number, len(task.pieces))
        yield from _ticks_to_target(job, job.layout.fragments[place], ticks, order, task.clock)
    end = task.end.as_json() if task.number == 0 else None
    yield Packet(-1, REPORT, 0, (task.number,), task.clock, counts=counts, end=end)
    pass_by("after_read")


def _to_target(
    job: Job, fragment: Fragment, rows: pl.DataFrame, order: tuple[int, ...], clock: Clock
) -> Iterator[Packet]:
    """The rows of a fragment on their way to the buckets of the next fragment, or to the answer."""
    if fragment.target is None:
        yield Packet(fragment.number, ANSWER, 0, order, clock, rows)
        return
    target = job.layout.fragments[fragment.target]
    for bucket, part in divide(rows, fragment.keys, target.buckets, fragment.copying):
        if part.height:
            yield Packet(fragment.number, target.number, bucket, order, clock, part)


def _ticks_to_target(
    job: Job, fragment: Fragment, found: list[pl.DataFrame], order: tuple[int, ...], clock: Clock
) -> Iterator[Packet]:
    """The ticks of all rows of a fragment on their way to all buckets of the next one: once for a task."""
    if fragment.target is None or not found:
        return
    ticks = each_once(pl.concat(found))
    target = job.layout.fragments[fragment.target]
    for bucket in range(target.buckets):
        yield Packet(fragment.number, target.number, bucket, order, clock, None, ticks)


def _fed_by_others(job: Job, number: int) -> bool:
    """Whether another stateful fragment sends the clock to this one."""
    inputs = job.layout.fragments[number].inputs
    return any(job.layout.fragments[each].stage > 0 for each in inputs)


def _door(job: Job, place: LogPlace, stream: str) -> Door:
    """The stream's door in its state at a place."""
    door = Door(job.streams[stream])
    numbers = {
        "ledger": Ledger().as_dict(),
        "watermark": place.watermark,
        "first_tick": place.first_tick,
        "greatest_tick": place.greatest_tick,
        "greatest_time": place.greatest_time,
        "position": place.position,
    }
    door.restore({"numbers": json.dumps(numbers).encode()})
    return door


def admitted_rows(job: Job, piece: Piece) -> tuple[pl.DataFrame, Ledger]:
    """The accepted tuples of a piece, and its books."""
    stream = job.streams[piece.stream]
    door = _door(job, piece.place, piece.stream)
    doubles = job.logs[piece.stream].recorded_doubles
    skip, left, position = piece.skip, piece.rows, piece.place.position
    frames = []
    for found in runs_of(
        job.logs[piece.stream].files, piece.segment, piece.start, piece.end, stream, job.columns[piece.stream]
    ):
        if isinstance(found, int):
            door.heartbeat(found)
            continue
        rows = found[skip : skip + left] if skip or found.height > left else found
        skip, left = max(0, skip - found.height), left - rows.height
        frames.append(door.admit(doubles.without(rows, position)))
        position += rows.height
    rows = pl.concat(frames) if frames else _nothing(job, piece.stream, door)
    return rows, door.ledger


def _nothing(job: Job, stream: str, door: Door) -> pl.DataFrame:
    wanted = job.columns[stream]
    columns = tuple(c for c in job.streams[stream].columns if c.name.lower() in wanted)
    return door.admit(empty(dtypes(Schema(columns))))


def _prepared(
    job: Job,
    fragment: Fragment,
    flows: dict[int, BucketFlow],
    admitted: dict[str, pl.DataFrame],
    clock: Clock,
) -> Output:
    """The output of a reader fragment for accepted tuples."""
    # Removed, and stored again after the step: a step that fails leaves a flow that is half done, or has not
    # read its tables.
    kept = flows.pop(fragment.number, None)
    flow = kept or BucketFlow(fragment, 0, job.layout, job.extents)
    found = flow.step(clock, [], kept is None, admitted, skips=job.skips)
    flows[fragment.number] = flow
    return found
