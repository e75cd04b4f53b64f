"""A standing query on Spark: its micro-batches become commits of its result log; its state is Spark's
checkpoint.

    .nilometer/queries/<name>/results    the answers, as on the gateway (log/results)
    .nilometer/queries/<name>/state      where this version of the query began
    .nilometer/queries/<name>/spark      the checkpoint of this version, its number of buckets, or where it is
    kept

The laws: an answer in the result log is never given again, whatever happens to the checkpoint: a micro-batch
counts by the offsets that it has read up to, not by its number. A lost or damaged checkpoint is rebuilt by
reading the logs from where the version began, with a micro-batch that ends exactly where the result log does
(design.md principle 4).
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from nilometer.dataflow.analysis import Work
from nilometer.dataflow.ledger import QueryLedger
from nilometer.errors import DataError, NilometerError, ResourceError
from nilometer.live.checkpoint_places import delete_checkpoint
from nilometer.live.control import folder_of
from nilometer.live.dead_letters import write_lines
from nilometer.live.declarations import CompiledQuery
from nilometer.live.recovery import check_ends
from nilometer.live.standing import DurableQuery, reader_of
from nilometer.live.starts import Start, goes_on_at, offsets_at
from nilometer.log import LogDirectory, Offset, StreamLog
from nilometer.log.directory import place_of_logs
from nilometer.log.failpoints import Failpoint
from nilometer.log.local_files import LocalFiles
from nilometer.log.results.eras import changes
from nilometer.plan.physical import streams_of
from nilometer.types import INT_MAXIMUM, MINUTE, SECOND

if TYPE_CHECKING:
    from nilometer.ingest.adapters.adapter import Clock
    from nilometer.spark.pipeline import MicroBatch
    from nilometer.spark.running import Running
    from nilometer.spark.settings import SparkSettings

FOLDER = "spark"
INSTALLATION = "installation.json"
ENDS = "ends.json"
TRIES = 3
"""After this many failures in a row, the checkpoint is discarded and rebuilt from the logs."""


@dataclass(frozen=True)
class Metrics:
    """How a query does. `watermark` None: no reading or heartbeat has come. `lag` is its distance from the
    clock, in microseconds.
    """

    ledger: QueryLedger
    rows: int
    batches: int
    batch_milliseconds: int
    watermark: int | None
    lag: int | None
    state_bytes: int
    state_panes: int


class SparkQuery:
    """A durable query on Spark; no other process runs it until `close`.

    `kept` is the folder of its answers and its state if that is not in the data directory. The query is then
    temporary, and retention does not wait for it.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        query: CompiledQuery,
        *,
        start: Start,
        clock: Clock,
        settings: SparkSettings,
        failpoint: Failpoint | None = None,
        kept: Path | None = None,
        stops: bool = False,
    ) -> None:
        self.name = name
        self._stops = stops
        self.dead: str | None = None
        """Why a row was set aside last."""
        self.query = query
        self.note: str | None = None
        self._directory = directory
        self._kept = directory if kept is None else kept
        self._asked = kept is not None
        self._clock = clock
        self._settings = settings
        self._streams = streams_of(query.physical)
        self._standing = DurableQuery(self._kept, name, query, failpoint, keeps_state=False)
        self._watermark: int | None = None
        self._batches = 0
        self._work: Counter[str] = Counter()
        self._held: Mapping[str, int] = {}
        self._told: dict[str, Offset] = {}
        self.ended: frozenset[str] = frozenset()
        """The streams whose end the answers already cover."""
        self._fresh: deque[pl.DataFrame] = deque()
        self._state = (0, 0)
        self._unkept: tuple[MicroBatch, QueryLedger] | None = None
        self._running: Running | None = None
        self._buckets = 1
        self._tries = 0
        self.retry_at = 0
        """When a failed query may be retried."""
        try:
            self._begin(start)
        except BaseException:
            self._standing.close()
            raise

    # ---- where it goes on ----------------------------------------------------------------------------------------------

    def _begin(self, start: Start) -> None:
        directory = LogDirectory(self._directory)
        logs = {key: directory.log(stream) for key, stream in self._streams.items()}
        recovered = self._standing.recovered
        if self._standing.redeclared:
            changed = ", ".join(changes(self._standing.eras))
            raise DataError(
                f"{changed} has changed since '{self.name}' last ran, and Spark's checkpoint is of the old declaration",
                hint=f"declare it as before; or nilometer queries replay {self.name} answers again from the logs;"
                " the gateway takes such a change over",
            )
        trimmed = self._standing.find_trimmed(logs)
        began, committed = self._offsets(logs, start)
        if recovered is None or recovered.fresh:
            # Deleted before the query counts as begun: a checkpoint of another beginning, even of the same
            # plan, would go on at other offsets.
            self._forget_checkpoint()
        self._standing.begin(committed, self._clock(), {} if self._asked else logs)
        self._committed = committed
        self._ledger = QueryLedger()
        if recovered is not None and not recovered.fresh:
            self._ledger = recovered.last.ledger
        self.note = self._standing.note(self.name)
        if trimmed:
            self.note = f"{self.note}; {trimmed}"
        if not self._asked:
            self._forget_others(directory)
        self._began = began

    def _offsets(
        self, logs: Mapping[str, StreamLog], start: Start
    ) -> tuple[dict[str, Offset], dict[str, Offset]]:
        """Where this version began, and the offsets up to which it has answered."""
        recovered = self._standing.recovered
        if recovered is None:
            begin = offsets_at(logs, start)
            return begin, begin
        check_ends(self.name, recovered.committed, logs)
        stands = goes_on_at(recovered.committed, logs, start)
        committed = {key: max(stands[key], log.start) for key, log in logs.items()}
        began = {
            key: max(min(recovered.start.get(key, committed[key]), committed[key]), log.start)
            for key, log in logs.items()
        }
        return began, committed

    def _forget_others(self, directory: LogDirectory) -> None:
        for key in set(directory.streams()) - self._streams.keys():
            directory.log(key).forget_reader(reader_of(self.name))

    # ---- running -----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start, or go on."""
        from nilometer.spark.job import Job, TablesAtHand, partitions_of
        from nilometer.spark.running import Running
        from nilometer.spark.session import spark_session

        session = spark_session(self._settings.session)
        installed = self._installation(min(partitions_of(session), self._settings.bucket_count))
        self._buckets = int(installed["buckets"])
        logs = LogDirectory(self._directory)
        job = Job(
            name=self.name,
            plan=self.query.physical,
            extents=TablesAtHand.of_plan(self.query.physical, self.query.extents),
            place=place_of_logs(self._directory),
            # If the checkpoint must be rebuilt, then from what retention has left.
            start={key: max(at, logs.log(self._streams[key]).start) for key, at in self._began.items()},
            # The checkpoint may be behind the answers, or lost: rows in the result log are not answered
            # again.
            answered=dict(self._committed),
            buckets=self._buckets,
            partitions=installed["partitions"],
            ends_at=str(self._ends_at) if self._asked else None,
            max_rows=self._settings.max_rows,
            skips=None if self._stops else DataError,
        )
        trigger = f"{self._settings.trigger} seconds" if self._settings.trigger else None
        checkpoint = installed.get("checkpoint") or self._folder / self._standing.version
        self._running = Running(session, job, checkpoint, self._take, trigger=trigger)
        self._running.start()

    def restart(self) -> None:
        """Try again after a failure that may pass, such as a full disk or a lost executor.

        The wait grows with each attempt. The checkpoint may be damaged: after some attempts it is rebuilt.
        """
        self.stop()
        self._tries += 1
        self.retry_at = self._clock() + min(SECOND << self._tries, MINUTE)
        if self._unkept is not None:
            # Commit the pending answers first: the next micro-batch begins where they end.
            self._standing.retry(self._clock())
            if self._standing.trouble is not None:
                return
            self._keep()
        if self._tries == TRIES:
            self._forget_checkpoint()
        self.start()

    @property
    def _folder(self) -> Path:
        return folder_of(self._kept, self.name) / FOLDER

    def _forget_checkpoint(self) -> None:
        delete_checkpoint(self._folder / INSTALLATION)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _installation(self, partitions: int) -> dict[str, Any]:
        """The number of buckets and partitions of this version's checkpoint, and its place if it is
        elsewhere. They are fixed at the first run.
        """
        from nilometer.spark.processor import STATE_FORMAT

        ours = {"version": self._standing.version, "format": STATE_FORMAT}
        files = LocalFiles(self._folder)
        try:
            found = json.loads(bytes(files.read(INSTALLATION)))
        except (FileNotFoundError, ValueError):
            found = None
        if found is not None and {key: found.get(key) for key in ours} == ours:
            return dict(found)
        # A checkpoint of another version, of the query or of Nilometer, is useless: it is rebuilt from the
        # logs.
        self._forget_checkpoint()
        chosen: dict[str, Any] = {"buckets": self._settings.bucket_count, "partitions": partitions}
        if self._settings.checkpoints is not None:
            # A name never used before, so that nothing of another beginning is found there.
            unique = f"{self._standing.version}-{secrets.token_hex(4)}"
            chosen["checkpoint"] = f"{self._settings.checkpoints.rstrip('/')}/{self.name.lower()}/{unique}"
        files.replace(INSTALLATION, json.dumps(ours | chosen).encode())
        return chosen

    def _take(self, batch: MicroBatch) -> None:
        """Commit a micro-batch's answers, once."""
        offsets = batch.end.offsets
        self._batches += 1
        self._work.update(batch.counts.work)
        self._held = batch.counts.held_of
        self._watermark = None if batch.clock.watermark == INT_MAXIMUM else batch.clock.watermark
        self._state = (batch.counts.state_bytes, batch.counts.state_panes)
        if self._unkept is not None:
            self._standing.retry(self._clock())
            self._keep()
        known = all(offsets[key] <= self._committed[key] for key in offsets) and (offsets or self.rows)
        if known and batch.end.over <= self.ended:
            return
        if any(offsets[key] < self._committed[key] for key in offsets):
            raise ResourceError(
                f"the checkpoint of '{self.name}' does not fit its answers",
                hint="delete it: it is then rebuilt from the logs",
                detail=str(self._folder),
            )
        counts = batch.counts
        # Readings that a join gave up had been delivered to it.
        ledger = self._ledger + QueryLedger(
            counts.read,
            counts.delivered - counts.shed,
            counts.filtered,
            counts.late,
            counts.shed,
            counts.failed,
            counts.errors,
        )
        if counts.letters:
            self.dead = counts.letters[-1]["reason"]
            if not self._asked:
                write_lines(self._directory, self.name, counts.letters)
        self._unkept = batch, ledger
        self._standing.commit(list(batch.rows), offsets, ledger, dict, self._clock())
        self._keep()

    def _keep(self) -> None:
        """Finish the commit of a micro-batch, or raise its trouble. Spark then hands the micro-batch over
        again, and the same commit is retried.
        """
        if self._standing.trouble is not None:
            raise ResourceError(self._standing.trouble, hint="it is tried again")
        assert self._unkept is not None
        batch, self._ledger = self._unkept
        # The rows before the offsets: another thread that sees the offsets also finds the rows.
        self._fresh.extend(batch.rows)
        self._committed, self.ended = batch.end.offsets, batch.end.over
        self._unkept = None
        self._tries = 0

    def end(self, ends: Mapping[str, Offset]) -> None:
        """The sources of these streams have ended: nothing is read beyond these offsets, and the last windows
        are complete. Only for temporary queries.
        """
        assert self._asked, "a standing query's streams do not end"
        from nilometer.spark.ends import tell_ends

        new = {stream: at for stream, at in ends.items() if stream not in self._told}
        if new:
            self._told |= new
            tell_ends(self._ends_at, self._told)

    @property
    def _ends_at(self) -> Path:
        return folder_of(self._kept, self.name) / ENDS

    def take(self) -> list[pl.DataFrame]:
        """The answers since the last call; called from another thread than Spark's."""
        return [self._fresh.popleft() for _ in range(len(self._fresh))]

    @property
    def offsets(self) -> Mapping[str, Offset]:
        """The offsets up to which the query has answered."""
        return self._committed

    @property
    def active(self) -> bool:
        """Whether the query runs."""
        return self._running is not None and self._running.active

    @property
    def failure(self) -> NilometerError | None:
        """The error that stopped the query."""
        return None if self._running is None else self._running.failure

    @property
    def rows(self) -> int:
        """The number of rows ever answered."""
        return self._standing.rows

    @property
    def version(self) -> str:
        """The version of the query."""
        return self._standing.version

    @property
    def earlier(self) -> QueryLedger:
        """The counters of the versions before this one."""
        return self._standing.earlier

    @property
    def work(self) -> Work:
        """How long the operators of the query have computed, in all workers, since this process began."""
        return Work(sum(count for key, count in self._work.items() if key.endswith(".ns")))

    def analysis(self) -> str:
        """The layout of the query with the work of each operator since this process began."""
        from nilometer.spark.layout.lay_out import lay_out
        from nilometer.spark.layout.work import work_text

        layout = lay_out(self.query.physical, self._buckets, combine=True)
        return work_text(layout, self._work, self._held)

    @property
    def metrics(self) -> Metrics:
        """The query's metrics."""
        progress = None if self._running is None else self._running.progress
        lag = None if self._watermark is None else self._clock() - self._watermark
        return Metrics(
            self._ledger,
            self.rows,
            self._batches,
            0 if progress is None else progress.milliseconds,
            self._watermark,
            lag,
            *self._state,
        )

    def catch_up(self) -> None:
        """Wait until the query has answered for everything that is in the logs now."""
        assert self._running is not None, "a query that was not started"
        self._running.catch_up()

    def stop(self) -> None:
        """Stop for now; `start` goes on."""
        if self._running is not None:
            self._running.stop()

    def close(self) -> None:
        """Stop, and release the query to other processes."""
        self.stop()
        self._standing.close()
        if self._asked:
            self._forget_checkpoint()
