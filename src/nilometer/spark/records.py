"""Reads the rows of a range of a segment, in as few frames as possible, and the heartbeats between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.log.files import Files
from nilometer.log.reader import batch_of, schema_of
from nilometer.log.record import Header, RecordKind, records_in
from nilometer.log.schema import Unpacker
from nilometer.log.segment import Damage, SegmentId
from nilometer.operators.frames import dtypes
from nilometer.plan import physical
from nilometer.types import Schema


def reached_by(header: Header, stream: Stream) -> int:
    """The watermark after a record of summaries: their greatest tick less the stream's DELAY."""
    every = stream.every
    tick = header.greatest_time if every is None else header.greatest_time // every * every
    return tick - stream.delay


def runs_of(
    files: Files, segment: SegmentId, start: int, end: int, stream: Stream, columns: frozenset[str]
) -> Iterator[pl.DataFrame | int]:
    """The contents between two bytes at which records begin and end: rows, in the stream's columns of these
    lower-case names, and the ticks of heartbeats.
    """
    run = records_in(files.read(segment.name, start, end - start), start)
    if run.end != end:
        raise Damage(segment.name, run.end, end, "a record fails its checksum").error()
    wanted = dtypes(Schema(tuple(c for c in stream.columns if c.name.lower() in columns)))
    unpacker = Unpacker(schema_of(files, segment), wanted, segment.name)
    batches: list[Any] = []
    for header in run:
        if header.kind == RecordKind.ROWS:
            batches.append(batch_of(header, run, unpacker.schema))
        elif header.kind in (RecordKind.HEARTBEAT, RecordKind.SUMMARIES):
            if batches:
                yield unpacker.frame(batches)
                batches = []
            yield header.greatest_time if header.kind == RecordKind.HEARTBEAT else reached_by(header, stream)
    if batches:
        yield unpacker.frame(batches)


def columns_read(plans: Iterable[physical.Node], streams: Iterable[str]) -> dict[str, frozenset[str]]:
    """The columns of each of these streams that are read, all in lower case: those of the plans, and time and id."""
    wanted = {name: {"time", "id"} for name in streams}
    for plan in plans:
        for node in physical.walk_plan(plan):
            if isinstance(node, physical.SpAcquire):
                wanted[node.stream.name.lower()] |= {
                    column.name.lower() for column in node.columns + node.reads
                }
    return {name: frozenset(names) for name, names in wanted.items()}
