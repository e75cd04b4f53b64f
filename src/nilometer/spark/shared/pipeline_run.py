"""One run of a pipeline: a StreamingQuery whose rounds are passed, one by one and in their order, to a function in the driver.

The laws: the function is called for a round after it has returned for the one before. If it raises, or if Spark fails, the
run is over; the next one begins where the commit log ends. Nobody who asks about a run, or stops it, waits for Java to start
or meets its end: a run whose Java was killed is a run that has failed. Nobody who asks whether a run is active, and what has
ended it, waits for Java at all: a thread of the run asks Java, and keeps the answer.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from nilometer.errors import InternalError, NilometerError, ResourceError
from nilometer.spark.java_ended import asking_java
from nilometer.spark.running import Progress, error_of
from nilometer.spark.session import require_driver
from nilometer.spark.shared.changes import Change, ChangeWriter
from nilometer.spark.shared.hand_over import Taker
from nilometer.spark.shared.rounds import RoundResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")
Take = Callable[[RoundResult], None]
TAKES_CHANGES = 0.1
"""Spark asks for a round so many seconds after it asked for the last one, if not sooner: queries come and go at once. The
planner keeps the longer interval between two rounds that read (round_planner.py)."""
SOON = 0.005
"""How many seconds the owner waits before it asks Spark again whether the tasks of a round are done."""
WATCHES = 0.05
"""How many seconds pass before Java is asked again whether the query is active."""
PROGRESS = {
    # Spark's logs of offsets and commits say nothing that the commit log does not say. Spark writes them for the first
    # micro-batch, and then every hour, beside the work.
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": "3600000",
}
_REGISTERED: WeakKeyDictionary[SparkSession, bool] = WeakKeyDictionary()


class PipelineRun:
    """A run. `session` gives Spark's session; it is called in the run's thread, because Java may take long to start.
    `folder` is the run's own, and is deleted with it; all machines see it. A round of several parts with `task_rows`
    readings or more is run in tasks; None: if that is expected to be faster (way_costs.py). What is new is read every
    `trigger` seconds; 0: as soon as it is there."""

    def __init__(
        self,
        session: Callable[[], SparkSession],
        name: str,
        place: str,
        folder: Path,
        max_rows: int,
        parts: int,
        take: Take,
        task_rows: int | None = None,
        trigger: float = 0.0,
    ) -> None:
        self._session = session
        self._name = name
        self._folder = folder
        self._options = {
            "place": place,
            "folder": str(folder),
            "max_rows": str(max_rows),
            "parts": str(parts),
            "task_rows": "" if task_rows is None else str(task_rows),
            "trigger": str(trigger),
        }
        self._trigger = trigger
        self._take = take
        self._query: StreamingQuery | None = None
        self._failure: NilometerError | None = None
        folder.mkdir(parents=True, mode=0o700)
        self._changes = ChangeWriter(folder)
        self._taker = Taker(folder)
        self._over = threading.Event()
        self._ended = False
        self._error: NilometerError | None = None
        """Whether Java has said that the query is not active, and what it has said of the reason. The last round that was given
        is still taken."""
        self._begins = threading.Lock()
        self._taken_up = self._done_with = False
        """Whether Spark has the query, or is about to; and whether the thread is at its end. Under this lock, like the end of
        the run: whoever stops a run that waits for Java leaves it to the thread to clear up."""
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._watcher = threading.Thread(target=self._watch, name=f"{name} watched", daemon=True)

    def tell(self, change: Change) -> None:
        """Let the next round take a change up. If it cannot be written, the run is over: the next one is told anew."""
        try:
            self._changes.add(change)
        except ResourceError as error:
            self._failure = self._failure or error
            if not self._over.is_set():
                self._taker.end()

    def start(self) -> None:
        """Begin."""
        if self._failure is None:
            self._thread.start()

    def _work(self) -> None:
        try:
            session = self._session()
            with asking_java():
                self._begin(session)
            if self._query is not None:
                self._take_rounds()
        except NilometerError as error:
            self._failure = error
        except Exception as error:
            if self.begun:
                self._failure = InternalError(f"a round could not be taken: {error!r}")
            else:
                self._failure = error_of(str(error) or repr(error))
        with self._begins:
            self._done_with = True
            left = self._over.is_set() and not self._taken_up
        if left:
            self._clear_up()
        elif self._failure is not None and not self._over.is_set():
            self._taker.end()

    def _begin(self, session: SparkSession) -> None:
        from nilometer.spark.shared.round_source import NAME, RoundSource

        if self._over.is_set():
            return
        require_driver(session, "a query whose answers come to this process")
        if session not in _REGISTERED:
            session.dataSource.register(RoundSource)
            _REGISTERED[session] = True
        reader: Any = session.readStream.format(NAME)
        frame: DataFrame = reader.options(**self._options).load()
        writer = frame.writeStream.format("noop").outputMode("append").queryName(self._name)
        writer = writer.option("checkpointLocation", (self._folder / "checkpoint").absolute().as_uri())
        writer = writer.options(**PROGRESS)
        if self._trigger:
            writer = writer.trigger(processingTime=f"{min(self._trigger, TAKES_CHANGES)} seconds")
        with self._begins:
            self._taken_up = not self._over.is_set()
        if self._taken_up:
            self._query = writer.start()
            self._watcher.start()

    def _watch(self) -> None:
        """Ask Java whether the query is active, and what has ended it, until it is not."""
        try:
            while self._asked(lambda query: query.isActive, False):
                if self._over.wait(WATCHES):
                    return
            found: Any = self._asked(lambda query: query.exception(), None)
            self._error = None if found is None else error_of(str(found))
        except Exception as error:
            self._error = error_of(str(error) or repr(error))
        self._ended = True

    def _take_rounds(self) -> None:
        from nilometer.spark.shared.round_work import take_result

        while (given := self._taker.next()) is not None and self._failure is None:
            if given.tasks and not self._tasks_done(given.number):
                return
            self._take(take_result(self._folder, given.number, given.tasks))
            self._taker.taken()

    def _tasks_done(self, number: int) -> bool:
        """Wait until Spark has run the tasks of a round."""
        while not self._over.wait(SOON):
            if self.done >= number:
                return True
            if not self.active:
                return False
        return False

    def _asked(self, ask: Callable[[StreamingQuery], T], otherwise: T) -> T:
        """What Java says about the query; `otherwise` before it has begun, and after Java has ended, which ends the run."""
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
    def begun(self) -> bool:
        """Whether Spark has taken it up. If it fails before, no query of it is to blame."""
        return self._query is not None

    @property
    def done(self) -> int:
        """The number of the last round whose micro-batch is over. Not every round is a micro-batch."""
        found: Any = self._asked(lambda query: query.lastProgress, None)
        end = None if found is None else found["sources"][0]["endOffset"]
        return int(json.loads(end)["round"]) if end else 0

    @property
    def active(self) -> bool:
        """Whether it is running, or beginning."""
        ended = self._failure is not None or self._over.is_set() or self._ended
        return not ended and self._thread.is_alive()

    @property
    def failure(self) -> NilometerError | None:
        """The error that ended it."""
        return self._failure or self._error

    @property
    def reports(self) -> list[Any]:
        """Spark's reports on the last rounds."""
        found: Any = self._asked(lambda query: query.recentProgress, None)
        return [] if found is None else list(found)

    @property
    def progress(self) -> Progress | None:
        """Spark's report on the last round; None if there was none yet."""
        found: Any = self._asked(lambda query: query.lastProgress, None)
        if found is None:
            return None
        steps = {str(name): int(value) for name, value in dict(found["durationMs"]).items()}
        return Progress(int(found["batchId"]), steps.get("triggerExecution", 0), steps)

    def stop(self) -> None:
        """Stop, after the current round or without it. The function must not be waiting for the caller."""
        with self._begins:
            if self._over.is_set():
                return
            self._over.set()
            if self._thread.is_alive() and not self._taken_up and not self._done_with:
                return
        self._taker.end()
        if self._thread.ident is not None:
            self._thread.join()
        self._asked(lambda query: query.stop(), None)
        self._clear_up()

    def _clear_up(self) -> None:
        self._taker.close()
        shutil.rmtree(self._folder, ignore_errors=True)
