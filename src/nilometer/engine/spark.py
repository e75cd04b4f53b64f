"""The Spark host behind the engine: runs a query's physical plan over the available data, which it lands in
logs of its own."""

from __future__ import annotations

import atexit
import contextlib
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from nilometer.dataflow.dead_rows import notes_of
from nilometer.dataflow.ledger import Ledger
from nilometer.errors import ConfigurationError, FunctionFailedError
from nilometer.live.answers import Answer
from nilometer.log.directory import place_of_logs
from nilometer.operators.frames import dtypes, empty
from nilometer.plan.physical import streams_of
from nilometer.spark.installed import require_spark
from nilometer.urls import is_url

if TYPE_CHECKING:
    from nilometer.engine.data import Data
    from nilometer.engine.database import Database
    from nilometer.engine.query import Query
    from nilometer.spark.job import Job
    from nilometer.spark.settings import SparkSettings
    from nilometer.spark.stream_from import Landing
    from nilometer.spark.typed import DataFrame


def run_on_spark(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The whole answer, as one frame."""
    require_spark()
    from nilometer.live.owner.borrowing import borrowed
    from nilometer.live.owner.owner import OwnerGoneError
    from nilometer.spark.finite import run_at_once, run_finite
    from nilometer.spark.job import partitions_of
    from nilometer.spark.settings import SparkSettings

    settings = SparkSettings.from_environment(query.database.data.base)
    result = None
    if not _has_session():
        with borrowed(query.database.data.base, settings) as lent, contextlib.suppress(OwnerGoneError):
            if lent is not None:
                job, ledgers, small = _landed_job(
                    query, finished, batch_rows, settings, lent.partitions, str(lent.place)
                )
                result = lent.run(job, at_once=small)
    if result is None:
        session, settings = _session(query.database)
        with _asked_place(query.database.data, settings) as place:
            job, ledgers, small = _landed_job(
                query, finished, batch_rows, settings, partitions_of(session), place
            )
            result = (run_at_once if small else run_finite)(session, job)
    frame = pl.concat(result.frames) if result.frames else empty(dtypes(query.schema))
    books = {}
    for name, ledger in ledgers.items():
        # All landed readings are accepted; late ones are reported where they are read.
        late = result.counts.late_of.get(name, 0)
        ledger += Ledger(late=late, accepted=-late)
        books[name] = {"read": ledger.received} | ledger.as_dict()
    for name, count in result.counts.shed_of.items():
        books[name] = books.get(name, {}) | {"shed": count}
    return Answer(query.schema, frame, result.watermark, books, notes_of(result.counts.letters))


@contextlib.contextmanager
def _asked_place(data: Data, settings: SparkSettings) -> Iterator[str]:
    """Where the data of a question is landed: on a cluster it must be where all machines see it, beside the logs."""
    from nilometer.live.asked_folders import PREFIX, AskedFolder
    from nilometer.log.private import make_directory
    from nilometer.spark.settings import cores_of

    if data.base is None or data.fetched_from is not None or cores_of(settings.master or "local[*]"):
        with tempfile.TemporaryDirectory(prefix="nilometer-") as folder:
            yield folder
        return
    logs = place_of_logs(data.base)
    if not is_url(logs):
        make_directory(data.base / ".nilometer")
        with AskedFolder(data.base / ".nilometer") as folder_of_all:
            yield str(folder_of_all)
        return
    from nilometer.log.object_store import open_store

    plain, mark, options = logs.partition("?")
    place = f"{plain.rstrip('/')}/.{PREFIX}{secrets.token_hex(8)}{mark}{options}"
    try:
        yield place
    finally:
        filesystem, root = open_store(place)
        with contextlib.suppress(OSError):
            filesystem.delete_dir(root)


def _landed_job(
    query: Query, finished: bool, batch_rows: int | None, settings: SparkSettings, partitions: int, place: str
) -> tuple[Job, dict[str, Ledger], bool]:
    """The job over the query's data, which is landed at a place; its books; and whether it is small enough for one batch."""
    ledgers = land_query(query, place)
    rows = settings.max_rows if batch_rows is None else batch_rows
    job = job_over_logs(query, settings.bucket_count, partitions, place, ends=finished, max_rows=rows)
    landed = sum(ledger.received for ledger in ledgers.values())
    return job, ledgers, finished and batch_rows is None and landed <= settings.max_rows


def _has_session() -> bool:
    """Whether this process has a session of Spark already. Asked without importing PySpark, which takes a second."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def dataframe(query: Query, *, streaming: bool | None) -> DataFrame:
    """The answer as a typed DataFrame. Streams with a log in the data directory are read from it and
    continue. Other data is landed in logs that live as long as the process, and ends. `streaming` None: a
    batch over data at hand, streaming over logs that continue."""
    require_spark()
    from nilometer.spark.job import partitions_of, refuse_refresh
    from nilometer.spark.pipeline import packets
    from nilometer.spark.typed import typed

    data = query.database.data
    at_hand = data.base is None or any(data.has(each) for each in streams_of(query.physical).values())
    if streaming is None:
        streaming = not at_hand
    if streaming:
        refuse_refresh(query.standing().physical)
    session, settings = _session(query.database)
    place = _scratch() if at_hand else place_of_logs(str(data.base))
    if at_hand:
        land_query(query, place)
    rows = settings.max_rows if streaming else None
    job = job_over_logs(
        query,
        settings.bucket_count,
        partitions_of(session),
        place,
        ends=at_hand or not streaming,
        max_rows=rows,
    )
    return typed(packets(session, job, streaming=streaming), query.schema)


def job_over_logs(
    query: Query, buckets: int, partitions: int, place: str, *, ends: bool, max_rows: int | None
) -> Job:
    """A query over whole logs, from their start."""
    from nilometer.spark.job import Job, TablesAtHand, log_starts

    return Job(
        name="query",
        plan=query.physical,
        extents=TablesAtHand.of_plan(query.physical, query.extents),
        place=place,
        start=log_starts(place, streams_of(query.physical)),
        buckets=buckets,
        # More would have nothing to do, and each costs a turn of a Python worker: a user's own session may have 200.
        partitions=min(partitions, buckets),
        ends=ends,
        max_rows=max_rows,
        skips=FunctionFailedError,
    )


def _session(database: Database) -> tuple[Any, SparkSettings]:
    """The session, and the settings of the data directory that it was created with."""
    from nilometer.spark.session import spark_session
    from nilometer.spark.settings import SparkSettings

    settings = SparkSettings.from_environment(database.data.base)
    return spark_session(settings.session, brief=database.brief), settings


def land_query(query: Query, place: str) -> dict[str, Ledger]:
    """Write the available data of a query's streams into logs at a place; returns each stream's books."""
    from nilometer.spark.landing import land

    sources = query.extents
    streams = streams_of(query.physical)
    return {name: land(place, stream, sources.entries(stream)) for name, stream in streams.items()}


def stream_from(database: Database, frame: DataFrame, name: str, *, available_now: bool) -> Landing:
    """Land a streaming DataFrame in the log of a stream."""
    require_spark()
    from nilometer.live.outside import system_clock
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
    """A directory that lives as long as the process."""
    folder = tempfile.mkdtemp(prefix="nilometer-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
