"""The Spark host behind the engine: a query's physical plan over the data at hand, landed in logs of its own."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from nilometer.catalog import Stream
from nilometer.edge.ledger import Ledger
from nilometer.edge.log import LogDirectory, Offset
from nilometer.engine.answers import Answer
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import ConfigurationError, UnsupportedError
from nilometer.operators.frames import dtypes, empty
from nilometer.plan import physical
from nilometer.plan.physical import streams_of

if TYPE_CHECKING:
    from nilometer.engine.database import Database
    from nilometer.engine.query import Query
    from nilometer.spark.job import Job, TablesAtHand
    from nilometer.spark.settings import SparkSettings
    from nilometer.spark.stream_from import Landing
    from nilometer.spark.typed import DataFrame


def run_on_spark(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The whole answer, as one frame."""
    from nilometer.spark.finite import run_finite
    from nilometer.spark.processor import shed_of
    from nilometer.spark.reading import late_of

    session, settings = _session(query.database)
    with tempfile.TemporaryDirectory(prefix="nilometer-") as folder:
        ledgers = land_query(query, folder)
        job = job_of_query(
            query,
            session,
            settings,
            folder,
            ends=finished,
            max_rows=settings.max_rows if batch_rows is None else batch_rows,
        )
        result = run_finite(session, job)
    frame = pl.concat(result.frames) if result.frames else empty(dtypes(query.schema))
    books = {}
    for name, ledger in ledgers.items():
        # What was landed is all accepted; that some of it is late is said where it is read.
        late = result.counted.get(late_of(name), 0)
        ledger += Ledger(late=late, accepted=-late)
        books[name] = {"read": ledger.received} | ledger.as_dict()
    for name, count in result.counted.items():
        if name.startswith(shed_of("")) and count:
            stream = name.removeprefix(shed_of(""))
            books[stream] = books.get(stream, {}) | {"shed": count}
    return Answer(query.schema, frame, result.watermark, books)


def dataframe(query: Query, *, streaming: bool) -> DataFrame:
    """The answer as a typed DataFrame. Streams that have a log in the data directory are read from it, and go on; data at hand are landed in
    logs that live as long as the process, and end."""
    from nilometer.spark.pipeline import packets
    from nilometer.spark.typed import typed

    data = query.database.data
    if streaming:
        refuse_refresh(query)
    session, settings = _session(query.database)
    at_hand = data.base is None or any(data.has(each) for each in streams_of(query.physical).values())
    place = _scratch() if at_hand else str(data.base)
    if at_hand:
        land_query(query, place)
    job = job_of_query(
        query,
        session,
        settings,
        place,
        ends=at_hand or not streaming,
        max_rows=settings.max_rows if streaming else None,
    )
    return typed(packets(session, job, streaming=streaming), query.schema)


def refuse_refresh(query: Query) -> None:
    """A query that goes on sees a table on Spark as it was when the query began: where it should be read anew, that must be known."""
    for table in physical.tables_of(query.physical).values():
        if table.refresh is not None:
            raise UnsupportedError(
                f"'{table.name}' is declared with REFRESH EVERY, and Spark does not read tables anew",
                detail="a query that goes on would see it for ever as it is now",
                hint="run the query on the gateway, or declare the table without REFRESH EVERY",
            )


def job_of_query(
    query: Query,
    session: Any,
    settings: SparkSettings,
    place: str,
    *,
    name: str = "query",
    start: Mapping[str, Offset] | None = None,
    answered: Mapping[str, Offset] | None = None,
    buckets: int | None = None,
    partitions: int | None = None,
    ends: bool = False,
    ends_at: str | None = None,
    max_rows: int | None = None,
) -> Job:
    """A query over the logs at a place, as Spark's workers get it: from the logs' beginning, in as many buckets and partitions as the
    settings and the session have, unless told otherwise."""
    from nilometer.spark.job import Job

    streams = streams_of(query.physical)
    logs = LogDirectory(place)
    return Job(
        name=name,
        plan=query.physical,
        extents=_extents(query, streams),
        place=place,
        start={key: logs.log(stream).start for key, stream in streams.items()} if start is None else start,
        buckets=settings.bucket_count if buckets is None else buckets,
        partitions=partitions_of(session) if partitions is None else partitions,
        answered=answered,
        ends=ends,
        ends_at=ends_at,
        max_rows=max_rows,
    )


def partitions_of(session: Any) -> int:
    """Into how many partitions a session shuffles."""
    return int(session.conf.get("spark.sql.shuffle.partitions") or 1)


def _session(database: Database) -> tuple[Any, SparkSettings]:
    """The session, and the settings of the data directory that it was asked for with."""
    from nilometer.spark.session import spark_session
    from nilometer.spark.settings import SparkSettings

    settings = SparkSettings.from_environment(database.data.base)
    return spark_session(settings.session), settings


def land_query(query: Query, place: str) -> dict[str, Ledger]:
    """Write the data at hand of a query's streams into logs at a place; gives each stream's books."""
    from nilometer.spark.landing import land

    sources = DatabaseSources(query.database, query.physical)
    streams = streams_of(query.physical)
    return {name: land(Path(place), stream, sources.entries(stream)) for name, stream in streams.items()}


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


def _extents(query: Query, streams: Mapping[str, Stream]) -> TablesAtHand:
    """The tables as they are now and the sensors of the streams."""
    from nilometer.spark.job import TablesAtHand

    sources = DatabaseSources(query.database, query.physical)
    tables = {
        node.table.name.lower(): sources.table(node.table)
        for node in physical.walk_plan(query.physical)
        if isinstance(node, physical.StoredScan)
    }
    return TablesAtHand.of(tables, {name: tuple(sources.sensors(s)) for name, s in streams.items()})
