"""A running job: a StreamingQuery of Spark whose micro-batches are passed, one by one, to a function in the
driver.

The law: a micro-batch is passed again, with the same offsets and rows, until the function has returned and
Spark has committed it. So the receiver can keep it exactly once, by its offsets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nilometer.errors import NilometerError, ResourceError
from nilometer.spark.faults import found_in
from nilometer.spark.java_ended import asking_java
from nilometer.spark.job import Job
from nilometer.spark.pipeline import MicroBatch, micro_batch, packets
from nilometer.spark.session import require_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")
Take = Callable[[MicroBatch], None]

DIED = re.compile(
    r"Python worker exited unexpectedly|ExecutorLostFailure|EOFException"
    r"|(Socket|IO)Exception: (Stream closed|Connection reset|Broken pipe)"
)
"""In Spark's error text: a worker or its machine is gone."""


@dataclass(frozen=True)
class Progress:
    """Spark's report on the last micro-batch: its number, its duration, and the duration of each step, in
    milliseconds.
    """

    batch: int
    milliseconds: int
    steps: dict[str, int]


class Running:
    """One query. `available_now`: it ends by itself when it has read all that is there."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        checkpoint: Path | str,
        take: Take,
        *,
        available_now: bool = False,
        trigger: str | None = None,
    ) -> None:
        # There the function would run on the server, and its input would be lost.
        require_driver(session, "a query whose answers come to this process")
        self.job = job
        self._session = session
        self._checkpoint = str(checkpoint)
        self._take = take
        self._available_now = available_now
        self._trigger = trigger
        self._query: StreamingQuery | None = None
        self._failure: NilometerError | None = None

    def start(self) -> None:
        """Begin, or go on from the checkpoint."""

        def take(frame: DataFrame, _: int) -> None:
            try:
                self._take(micro_batch(frame))
            except NilometerError as error:
                # Spark would wrap the error in a page of Java.
                self._failure = error
                raise

        with asking_java():
            writer = packets(self._session, self.job).writeStream.foreachBatch(take).outputMode("append")
            writer = writer.option("checkpointLocation", self._checkpoint).queryName(self.job.name)
            if self._available_now:
                writer = writer.trigger(availableNow=True)
            elif self._trigger is not None:
                writer = writer.trigger(processingTime=self._trigger)
            # A query copies the session's settings when it starts.
            with settings_of(self._session, self.job):
                self._query = writer.start()

    def _asked(self, ask: Callable[[StreamingQuery], T], otherwise: T) -> T:
        """What Java says about the query; `otherwise` if it has not begun, or if Java has ended, which ends the query."""
        if self._query is None:
            return otherwise
        try:
            with asking_java():
                return ask(self._query)
        except ResourceError as error:
            if self._failure is None:
                self._failure = error
            return otherwise

    @property
    def active(self) -> bool:
        """Whether it is running."""
        return self._asked(lambda query: query.isActive, False)

    @property
    def failure(self) -> NilometerError | None:
        """The error that stopped it."""
        found: Any = None if self._failure is not None else self._asked(lambda query: query.exception(), None)
        return self._failure if found is None else error_of(str(found))

    @property
    def progress(self) -> Progress | None:
        """The report on the last micro-batch with anything to do; None if there was none yet."""
        found: Any = self._asked(lambda query: query.lastProgress, None)
        if found is None:
            return None
        steps = {str(name): int(value) for name, value in dict(found["durationMs"]).items()}
        return Progress(int(found["batchId"]), steps.get("triggerExecution", 0), steps)

    def wait(self) -> None:
        """Wait until it has ended. Raises its error."""
        assert self._query is not None, "a query that was not started"
        try:
            with asking_java():
                self._query.awaitTermination()
        except ResourceError as error:
            self._failure = self._failure or error
        except Exception:
            if self.failure is None:
                raise
        finally:
            self.stop()
        if self.failure is not None:
            raise self.failure

    def catch_up(self) -> None:
        """Wait until everything that is in the logs now has been passed on."""
        assert self._query is not None, "a query that was not started"
        try:
            with asking_java():
                self._query.processAllAvailable()
        except ResourceError as error:
            self._failure = self._failure or error
        except Exception:
            if self.failure is None:
                raise
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """Stop, after the current micro-batch or without it."""
        self._asked(lambda query: query.stop(), None)


@contextmanager
def settings_of(session: SparkSession, job: Job) -> Iterator[None]:
    """Set a session's settings as a job needs them, for a while."""
    settings = {
        # Fixed with the checkpoint: the keys of the buckets were chosen for this number.
        "spark.sql.shuffle.partitions": str(job.partitions),
        # There are few packets, so code generation for a stage does not pay: 30 ms per micro-batch.
        "spark.sql.codegen.wholeStage": "false",
    }
    before = {key: session.conf.get(key) for key in settings}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, earlier in before.items():
            session.conf.set(key, earlier or settings[key])


PROCESS_DIED = "a Python process of Spark died at its work"


def error_of(text: str) -> NilometerError:
    """The cause behind Spark's error text: one of our errors, if the text carries one."""
    ours = found_in(text)
    if ours is not None:
        return ours
    if DIED.search(text):
        return ResourceError(
            PROCESS_DIED,
            detail="the system ends a process that needs too much memory",
            hint="use smaller micro-batches (max_rows in nilometer.toml, or NILOMETER_SPARK__MAX_ROWS=100000), or more memory",
        )
    causes = re.findall(r"^Caused by: (?:[\w.$]+(?:Exception|Error): )?(.+)$", text, re.MULTILINE)
    said = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return ResourceError(
        "Spark stopped the query",
        detail=(causes[-1] if causes else " ".join(said[:2]))[:500],
        hint="run it again: a standing query goes on from its last commit",
    )
