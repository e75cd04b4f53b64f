"""The Spark host behind the engine: a query's physical plan over the data at hand, landed in logs of its own."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog import Stream
from nilometer.edge.ledger import Ledger
from nilometer.edge.log import LogDirectory
from nilometer.engine.answers import Answer
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import ConfigurationError
from nilometer.operators.frames import dtypes, empty
from nilometer.plan import physical

if TYPE_CHECKING:
    from nilometer.engine.database import Database
    from nilometer.engine.query import Query
    from nilometer.spark.job import TablesAtHand
    from nilometer.spark.stream_from import Landing
    from nilometer.spark.typed import DataFrame

BATCH_ROWS = 1_000_000
"""Of a micro-batch, unless told. The fixed cost of a micro-batch is a good part of a second."""


def run_on_spark(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The whole answer, as one frame."""
    from nilometer.spark.finite import run_finite
    from nilometer.spark.landing import land
    from nilometer.spark.reading import late_of

    sources = DatabaseSources(query.database, query.physical)
    streams = streams_of(query.physical)
    with tempfile.TemporaryDirectory(prefix="nilometer-") as folder:
        ledgers = {name: land(Path(folder), s, sources.entries(s)) for name, s in streams.items()}
        result = run_finite(
            query.physical,
            streams,
            extents_of(query, streams),
            folder,
            max_rows=BATCH_ROWS if batch_rows is None else batch_rows,
            ends=finished,
        )
    frame = pl.concat(result.frames) if result.frames else empty(dtypes(query.schema))
    books = {}
    for name, ledger in ledgers.items():
        # What was landed is all accepted; that some of it is late is said where it is read.
        late = result.counted.get(late_of(name), 0)
        ledger += Ledger(late=late, accepted=-late)
        books[name] = {"read": ledger.received} | ledger.as_dict()
    return Answer(query.schema, frame, result.watermark, books)


def dataframe(query: Query, *, streaming: bool) -> DataFrame:
    """The answer as a typed DataFrame. Streams that have a log in the data directory are read from it, and go on; data at hand are landed in
    logs that live as long as the process, and end."""
    from nilometer.spark.job import Job
    from nilometer.spark.landing import land
    from nilometer.spark.layout import lay_out
    from nilometer.spark.pipeline import packets
    from nilometer.spark.places import Place, Places
    from nilometer.spark.session import spark_session
    from nilometer.spark.settings import SparkSettings
    from nilometer.spark.typed import typed

    database, plan = query.database, query.physical
    streams = streams_of(plan)
    settings = SparkSettings.from_environment(database.data.base)
    session = spark_session(settings.session)
    partitions = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    at_hand = any(database.data.has(stream) for stream in streams.values())
    place = str(database.data.base) if database.data.base is not None and not at_hand else _scratch()
    if place != str(database.data.base):
        sources = DatabaseSources(database, plan)
        for stream in streams.values():
            land(Path(place), stream, sources.entries(stream))
    logs = LogDirectory(place)
    job = Job(
        name=f"dataframe {database.data.base or ''}",
        plan=plan,
        layout=lay_out(plan, settings.bucket_count, combine=True),
        streams=streams,
        extents=extents_of(query, streams),
        place=place,
        start=Places({name: Place.at(logs.log(stream).start) for name, stream in streams.items()}),
        ends=at_hand or not streaming,
        max_rows=settings.max_rows if streaming else None,
        tasks=partitions,
        partitions=partitions,
    )
    return typed(packets(session, job, streaming=streaming), query.schema)


def stream_from(database: Database, frame: DataFrame, name: str, *, available_now: bool) -> Landing:
    """Land a streaming DataFrame in the log of a stream."""
    from nilometer.engine.live.station import system_clock
    from nilometer.spark.stream_from import Landing

    stream = database.catalog.stream(name)
    base = database.data.base
    if base is None:
        raise ConfigurationError(
            "nowhere to keep the log", hint="connect to a directory: nilometer.connect('field/')"
        )
    checkpoint = base / ".nilometer" / "landings" / stream.name.lower()
    return Landing(frame, stream, str(base), str(checkpoint), system_clock, available_now=available_now)


def _scratch() -> str:
    """A directory for as long as the process lives."""
    folder = tempfile.mkdtemp(prefix="nilometer-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def streams_of(plan: physical.Node) -> dict[str, Stream]:
    """The streams that a plan reads, by their lower-case names."""
    return {
        node.stream.name.lower(): node.stream
        for node in physical.walk_plan(plan)
        if isinstance(node, physical.SpAcquire)
    }


def extents_of(query: Query, streams: Mapping[str, Stream]) -> TablesAtHand:
    """The tables as they are now and the sensors of the streams."""
    from nilometer.spark.job import TablesAtHand

    sources = DatabaseSources(query.database, query.physical)
    tables = {
        node.table.name.lower(): sources.table(node.table)
        for node in physical.walk_plan(query.physical)
        if isinstance(node, physical.StoredScan)
    }
    return TablesAtHand.of(tables, {name: tuple(sources.sensors(s)) for name, s in streams.items()})
