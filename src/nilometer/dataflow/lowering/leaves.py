"""Lowers SP_ACQUIRE, STORED_SCAN and VALUES, which bring the rows of extents into a dataflow."""

from __future__ import annotations

import polars as pl

from nilometer.dataflow.attributes import attach, attribute_frame
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.stages import StreamReader, TableReader, pick
from nilometer.operators.evaluate.evaluate import compile_predicate
from nilometer.operators.frames import dtype, dtypes, empty, stream_dtypes
from nilometer.operators.logic import ID, STREAM_COLUMNS
from nilometer.plan.physical import SpAcquire, StoredScan, Values
from nilometer.types import Kind


def acquire(node: SpAcquire, flow: Dataflow) -> int:
    """The accepted tuples of the running sensors that satisfy the predicate: the wanted columns, under their
    alias."""
    stream = node.stream
    wanted = node.columns + node.reads
    own = {column.name: found.name for column in wanted if (found := stream.column(column.name)) is not None}
    static = tuple(column for column in wanted if column.name not in own)
    attributes = attribute_frame(flow.sources.sensors(stream), static, stream.id_type) if static else None
    running = (
        None
        if node.sensors is None
        else pl.Series(sorted(node.sensors, key=str), dtype=dtype(stream.id_type))
    )
    names = {name: name for name in STREAM_COLUMNS}
    names |= {f"{node.alias}.{c.name}": own.get(c.name, c.name) for c in wanted}
    predicate = compile_predicate(node.predicate)
    kept = {name: name for name in (*STREAM_COLUMNS, *node.schema.names)}
    narrow = len(node.reads) > 0

    def prepare(rows: pl.DataFrame) -> pl.DataFrame:
        if running is not None:
            rows = rows.filter(pl.col(ID).is_in(running.implode()))
        if attributes is not None:
            rows = attach(rows, attributes)
        rows = predicate(pick(rows, names))
        return pick(rows, kept) if narrow else rows

    nothing = empty(stream_dtypes(node.schema, stream.id_type))
    return flow.add(node, StreamReader(stream.name.lower(), nothing, prepare))


def scan(node: StoredScan, flow: Dataflow) -> int:
    """A table's rows: the wanted columns, under their alias."""
    sources = flow.sources
    reader = TableReader(
        node.table.name.lower(),
        empty(dtypes(node.schema)),
        lambda: sources.table(node.table),
        lambda rows: scanned(node, rows),
    )
    return flow.add(node, reader)


def scanned(node: StoredScan, rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of a table that the plan wants, under their alias."""
    found = {name.lower(): name for name in rows.columns}
    columns = (
        pl.col(found[c.name.lower()]).cast(dtype(c.type)).alias(f"{node.alias}.{c.name}")
        for c in node.columns
    )
    # If no column is wanted, the number of rows still counts.
    return rows.select(columns) if node.columns else pl.DataFrame(height=rows.height)


def values(node: Values, flow: Dataflow) -> int:
    """Constant rows, which no later round brings again."""
    columns = dtypes(node.schema)
    points = [place for place, column in enumerate(node.columns) if column.type.kind is Kind.POINT]
    rows = [
        [_point(value) if place in points else value for place, value in enumerate(row)] for row in node.rows
    ]
    frame = (
        pl.DataFrame(rows, schema=columns, orient="row") if columns else pl.DataFrame(height=len(node.rows))
    )
    return flow.add(node, TableReader("", empty(columns), lambda: frame, lambda found: found))


def _point(value: tuple[float, float] | None) -> dict[str, float] | None:
    return None if value is None else {"x": value[0], "y": value[1]}
