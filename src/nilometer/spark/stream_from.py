"""Lands a user's streaming DataFrame in a stream's log: whatever Spark can read (Kafka, Delta, files) becomes
a stream.

Its micro-batches are landed, each exactly once, through the same entrance as all other readings. From there
on it is a stream like any other: replayable, with books, readable on every host. A micro-batch that Spark
repeats after a crash is recognized by its checkpoint and number.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.ledger import StreamLedger
from nilometer.errors import NilometerError, UnsupportedError
from nilometer.ingest.adapters.adapter import ReadResult, Status
from nilometer.ingest.manager.entrance import Entrance
from nilometer.ingest.payloads import Garbled
from nilometer.ingest.readers import Reading, read_frame
from nilometer.log import LogDirectory
from nilometer.log.local_files import LocalFiles
from nilometer.spark.running import error_of
from nilometer.spark.session import require_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

BATCH = 1 << 40
"""The readings of a micro-batch are numbered from the micro-batch's number times this on."""


IDENTITY = "nilometer"


class Landing:
    """A DataFrame on its way into a stream's log. It holds the log's writer until `stop`."""

    def __init__(
        self,
        frame: DataFrame,
        stream: Stream,
        directory: str,
        checkpoint: str,
        clock: Callable[[], int],
        *,
        available_now: bool = False,
    ) -> None:
        require_driver(frame.sparkSession, "a DataFrame that becomes a stream")
        if stream.form.through is not None:
            raise UnsupportedError(
                f"'{stream.name}' has a unit before its log, and a DataFrame does not go through it",
                hint="read FROM UNIT, behind the log",
            )
        self.stream = stream
        self._clock = clock
        self._log = LogDirectory(directory).log(stream)
        self._entrance = Entrance(stream, self._log, source=f"spark:{identity_of(checkpoint)}")
        writer = frame.writeStream.foreachBatch(self._land).outputMode("append")
        writer = writer.option("checkpointLocation", checkpoint).queryName(f"land {stream.name}")
        if available_now:
            writer = writer.trigger(availableNow=True)
        self._failure: NilometerError | None = None
        try:
            self._query: StreamingQuery = writer.start()
        except BaseException:
            self._log.close()
            raise

    def _land(self, frame: DataFrame, number: int) -> None:
        try:
            rows = pl.from_arrow(frame.toArrow())
            assert isinstance(rows, pl.DataFrame)
            reading = read_frame(rows, self.stream)
            result = ReadResult(
                Status.NEW_VALUE,
                reading.rows,
                _garbled(reading),
                arrived=self._clock(),
                sequence=number * BATCH,
            )
            self._entrance.admit(result, self._clock(), end=(number + 1) * BATCH)
            self._log.flush()
        except NilometerError as error:
            self._failure = error
            raise

    @property
    def ledger(self) -> StreamLedger:
        """The books of the stream."""
        return self._entrance.ledger

    @property
    def active(self) -> bool:
        """Whether it is running."""
        return self._query.isActive

    def catch_up(self) -> None:
        """Wait until everything that the DataFrame has now is in the log."""
        self._checked(self._query.processAllAvailable)

    def wait(self) -> None:
        """Wait until the DataFrame has ended."""
        self._checked(self._query.awaitTermination)

    def _checked(self, wait: Callable[[], object]) -> None:
        try:
            wait()
        except Exception as error:
            raise (self._failure or error_of(str(error))) from None

    def stop(self) -> None:
        """Stop landing, and release the log."""
        self._query.stop()
        self._log.close()

    def __enter__(self) -> Landing:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def identity_of(checkpoint: str) -> str:
    """The identity of a checkpoint, kept in it. Another checkpoint numbers its micro-batches from 0 again,
    and those are not the same.
    """
    files = LocalFiles(checkpoint)
    try:
        return bytes(files.read(IDENTITY)).decode()
    except FileNotFoundError:
        files.replace(IDENTITY, secrets.token_hex(8).encode())
        return bytes(files.read(IDENTITY)).decode()


def _garbled(reading: Reading) -> tuple[Garbled, ...]:
    """The rows that could not be read, as dead letters: the first ones with their reasons, the others
    counted.
    """
    said = tuple(Garbled(b"", str(letter)) for letter in reading.dead_letters)
    unsaid = reading.garbled - len(said)
    return (*said, Garbled(b"", "could not be read", count=unsaid)) if unsaid > 0 else said
