"""Appends a source's results to the stream's log, makes them durable, and says which may be acknowledged.

While the disk is full, results wait in a bounded backlog. When the backlog is full, the stream's policy
decides whether to stop reading or to shed. An appended entry goes to the queries' ring at once, and may be
read there when it is durable.

The laws: a handle is given back only after its rows are durable in the log, or counted as shed. The count of
shed readings is durable with the next record: a process that dies while its disk is full forgets how many
readings it shed, never what it appended. Entries are handed on once, in log order.
"""

from __future__ import annotations

import contextlib
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from nilometer.catalog.extents import Stream
from nilometer.dataflow.ledger import StreamLedger
from nilometer.dataflow.sources import Batch, Entry, Heartbeat
from nilometer.errors import DataError, ResourceError
from nilometer.ingest.adapters.adapter import ReadResult
from nilometer.ingest.manager.backlog import Backlog, Shed
from nilometer.ingest.manager.clocks import Clocks
from nilometer.ingest.manager.disk import DiskEvent, DiskHealth, DiskState
from nilometer.ingest.manager.distributor import Distributor
from nilometer.ingest.manager.entrance import Entrance
from nilometer.ingest.manager.handed import Handed
from nilometer.ingest.manager.order import Order
from nilometer.ingest.manager.settings import ManagerSettings
from nilometer.ingest.payloads import FieldCounts
from nilometer.log import Offset, StreamLog
from nilometer.redaction import redacted

DEMANDS = 10_000
"""How many changes of demand may wait for room in the log. Beyond it the oldest are dropped."""


@dataclass(frozen=True)
class Pending:
    """The work that waits for a flush: `handles` are acknowledged once the log is durable. The end of a
    source waits for a flush, too, and has no handle."""

    unsettled: bool = False
    handles: tuple[object, ...] = ()


@dataclass(frozen=True)
class Promises:
    """Heartbeats: the tick that waits to be appended, and the last one that was."""

    waiting: int | None = None
    given: int | None = None


class Recorder:
    """Writes the log of one stream, in one thread. `durable` is the offset up to which the log is durable;
    None while this process is not its writer."""

    def __init__(
        self,
        stream: Stream,
        log: StreamLog,
        clocks: Clocks,
        settings: ManagerSettings,
        distributor: Distributor,
    ) -> None:
        self.log = log
        self.backlog = Backlog(
            settings.backlog_bytes, settings.policy(stream.name), keep_every=settings.keep_every
        )
        self.entrance: Entrance | None = None
        self.durable: Offset | None = None
        self.disk = DiskHealth(retry_at=clocks.smooth())
        self.order = Order(stream)
        self._stream = stream
        self._name = stream.name.lower()
        self._clocks = clocks
        self._settings = settings
        self._distributor = distributor
        self._pending = Pending()
        self._promises = Promises()
        self._demands: deque[dict[str, Any]] = deque(maxlen=DEMANDS)
        self._rested: tuple[dict[str, Any], Offset] = {}, Offset()

    # ---- becoming the writer ---------------------------------------------------------------------------------------------

    def ask(self) -> Entrance:
        """Open the entrance of the log. Raises BusyError if another process writes the log."""
        return Entrance(
            self._stream, self.log, source=redacted(self._stream.url or ""), keys=self._settings.keys
        )

    def begin(self, entrance: Entrance) -> None:
        """Start to write the log through this entrance."""
        self.entrance = entrance
        self.durable = self.log.end

    def finish(self) -> bool:
        """Close the log if nothing waits to be written. Returns whether it is closed."""
        if self.entrance is None:
            self.log.close()
            return True
        if not self.settled:
            return False
        try:
            self.entrance.settle()
            self.log.close()
        except ResourceError as error:
            self._refused(DiskEvent.APPEND_REFUSED, error)
            return False
        self.entrance = self.durable = None
        return True

    def abandon(self) -> None:
        """Release the log without writing anything, as if the process had died."""
        self.log.abandon()
        self.entrance = self.durable = None

    # ---- the queue of things to write ------------------------------------------------------------------------------------

    def put(self, result: ReadResult) -> Shed:
        """Queue a result to be appended. Returns the readings that were shed for it; they are counted."""
        assert self.entrance is not None, "a result for a log that is not ours"
        shed = self.backlog.put(result)
        if shed.readings:
            self.entrance.shed(shed.readings)
        return shed

    def end(self) -> None:
        """Note that the source has ended. The next flush settles its last results and its end."""
        self._pending = replace(self._pending, unsettled=True)

    def heartbeat(self, tick: int) -> None:
        """Queue a heartbeat: no reading earlier than `tick` will come. It stands in the log behind all
        readings that were read before it. A heartbeat that does not move the watermark is ignored."""
        known = [each for each in (self._promises.given, self.order.reached) if each is not None]
        if self.entrance is not None and (not known or tick > max(known)):
            waiting = self._promises.waiting
            self._promises = replace(self._promises, waiting=tick if waiting is None else max(tick, waiting))

    def demand(self, change: dict[str, Any]) -> None:
        """Queue a change of demand for the log."""
        if self.entrance is not None:
            self._demands.append(change)

    @property
    def blocked(self) -> bool:
        """Whether the source must not be read: backpressure."""
        return self.disk.state is DiskState.STUCK or self.backlog.full

    @property
    def settled(self) -> bool:
        """Whether every result that was read is durable."""
        return not len(self.backlog) and not self._pending.unsettled

    @property
    def due(self) -> int | None:
        """When to write next, by the smooth clock; None if nothing waits."""
        waits = not self.settled or self._promises.waiting is not None or bool(self._demands)
        return self.disk.retry_at if self.entrance is not None and waits else None

    # ---- append, make durable --------------------------------------------------------------------------------------------

    def retry_now(self) -> None:
        """Try the disk again without waiting."""
        self.disk = replace(self.disk, retry_at=self._clocks.smooth())

    def write(self) -> None:
        """Append all that waits, as far as the disk has room."""
        stuck = self.disk.state is DiskState.STUCK
        if self.entrance is None or stuck or self._clocks.smooth() < self.disk.retry_at:
            return
        try:
            self._write_results(self.entrance)
            if (tick := self._promises.waiting) is not None:
                self.log.heartbeat(tick)
                self._appended(Heartbeat(tick))
                self._promises = Promises(None, tick)
            while self._demands:
                self.log.writer.demand(self._demands[0])
                self._pending = replace(self._pending, unsettled=True)
                self._demands.popleft()
            self.disk = self.disk.done(DiskEvent.APPENDED)
        except ResourceError as error:
            self._refused(DiskEvent.APPEND_REFUSED, error)

    def _write_results(self, entrance: Entrance) -> None:
        handles: list[object] = []
        written = False
        try:
            while (waiting := self.backlog.head) is not None:
                batch = entrance.admit(
                    waiting.result, self._clocks.clock(), lead=self._clocks.lead, end=waiting.end
                )
                written = True
                if waiting.result.placed is not None:
                    taken = 0 if batch is None else batch.rows.height
                    waiting.result.placed(self.log.end.position - taken, taken)
                if batch is not None:
                    self._appended(batch)
                    if isinstance(batch, Batch):
                        self.order.check(batch)
                if waiting.result.handle is not None:
                    handles.append(waiting.result.handle)
                self.backlog.pop()
        finally:
            before = self._pending
            self._pending = Pending(before.unsettled or written, (*before.handles, *handles))

    def _appended(self, entry: Entry) -> None:
        """Put the entry, the last one in the log, into the ring. Queries read it there once it is durable."""
        self._pending = replace(self._pending, unsettled=True)
        after = self.log.end
        rows = entry.rows.height if isinstance(entry, Batch) else 0
        at = Offset(after.number - 1, after.position - rows)
        self._distributor.put(self._name, Handed(at, after, entry))

    def settle(self) -> tuple[bool, tuple[object, ...]] | None:
        """Flush the appended records. Returns whether there were new entries, and the handles to acknowledge;
        None if there was nothing to flush, or the disk refuses."""
        stuck = self.disk.state is DiskState.STUCK
        if not self._pending.unsettled or (stuck and self._clocks.smooth() < self.disk.retry_at):
            return None
        before = self.durable
        try:
            if self.entrance is not None:
                self.durable = self.log.flush()
                self._distributor.durable(self._name, self.durable)
        except ResourceError as error:
            self._refused(DiskEvent.FLUSH_REFUSED, error)
            return None
        self.disk = self.disk.done(DiskEvent.FLUSHED)
        pending, self._pending = self._pending, Pending()
        return self.durable != before, pending.handles

    def _refused(self, event: DiskEvent, error: ResourceError) -> None:
        self.disk = self.disk.refused(event, error.message, self._clocks.smooth() + self._settings.retry)

    # ---- status ----------------------------------------------------------------------------------------------------------

    @property
    def ledger(self) -> StreamLedger:
        """The stream's books. If another process writes the log: the books last written to it."""
        if self.entrance is not None:
            return self.entrance.ledger
        note, end = self._at_rest()
        books = note.get("ledger", {"received": end.position, "appended": end.position})
        return StreamLedger(**books)

    @property
    def fields(self) -> FieldCounts:
        """The fields that payloads lacked, or had beyond the declaration."""
        if self.entrance is not None:
            return self.entrance.fields
        return FieldCounts.from_json(self._at_rest()[0].get("fields"))

    @property
    def sessions_lost(self) -> int:
        """How often servers have lost a session in which they kept readings for us, over all times."""
        if self.entrance is not None:
            return sum(self.entrance.sessions.values())
        return sum(self._at_rest()[0].get("sessions", {}).values())

    @property
    def log_end(self) -> Offset:
        """The offset at which the log ends."""
        return self.log.end if self.entrance is not None else self._at_rest()[1]

    def _at_rest(self) -> tuple[dict[str, Any], Offset]:
        """The last note and the end of a log that this process does not write: as they were last read, if the disk
        refuses or the log is damaged. Nobody stops because a status cannot be told."""
        with contextlib.suppress(ResourceError, DataError):
            self._rested = self.log.note or {}, self.log.end if self.log.exists else Offset()
        return self._rested
