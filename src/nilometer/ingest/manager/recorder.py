"""What a source read -> its stream's log: append it, make it durable, and say what may be acknowledged.

What cannot be appended (a full disk) waits in a bounded backlog; then the stream's policy says whether to stop reading or to shed. An appended entry goes
to the queries' ring at once, and may be read there when it is durable.

The laws: a handle is given back after its rows are durable in the log, or counted as shed (a count that is durable with the next record: a
process that dies while its disk is full forgets how many it shed, never what it appended); entries are handed on once, in the order of the log.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from nilometer.catalog.extents import Stream
from nilometer.dataflow.ledger import StreamLedger
from nilometer.dataflow.sources import Batch, Entry, Heartbeat
from nilometer.errors import ResourceError
from nilometer.ingest.adapters.adapter import ReadResult
from nilometer.ingest.manager.backlog import Backlog, Shed
from nilometer.ingest.manager.clocks import Clocks
from nilometer.ingest.manager.disk import Disk, DiskEvent, DiskState
from nilometer.ingest.manager.distributor import Distributor
from nilometer.ingest.manager.entrance import Entrance
from nilometer.ingest.manager.handed import Handed
from nilometer.ingest.manager.order import Order
from nilometer.ingest.manager.settings import ManagerSettings
from nilometer.log import Offset, StreamLog

DEMANDS = 10_000
"""So many changes of demand wait for room in the log; then the oldest are forgotten."""


@dataclass(frozen=True)
class Pending:
    """What became of results that are not settled: `handles` are to be acknowledged once the log is durable. A source's end is settled too, without
    any."""

    unsettled: bool = False
    handles: tuple[object, ...] = ()


@dataclass(frozen=True)
class Promises:
    """That nothing earlier than a tick will come: the one that waits to be appended, and the last that was."""

    waiting: int | None = None
    given: int | None = None


class Recorder:
    """Of one stream and one thread. `durable` is the offset up to which the log is durable, None while it is not ours."""

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
        self.disk = Disk(retry_at=clocks.smooth())
        self.order = Order(stream)
        self._stream = stream
        self._name = stream.name.lower()
        self._clocks = clocks
        self._settings = settings
        self._distributor = distributor
        self._pending = Pending()
        self._promises = Promises()
        self._demands: deque[dict[str, Any]] = deque(maxlen=DEMANDS)

    # ---- the log is ours -------------------------------------------------------------------------------------------------

    def ask(self) -> Entrance:
        """The way into the log; BusyError if another process writes it."""
        return Entrance(self._stream, self.log, source=self._stream.url or "", keys=self._settings.keys)

    def begin(self, entrance: Entrance) -> None:
        """The log is ours from now on."""
        self.entrance = entrance
        self.durable = self.log.end

    def finish(self) -> bool:
        """Let go of the log, if nothing waits for it; whether that is done."""
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
        """Let go as the death of the process would."""
        self.log.abandon()
        self.entrance = self.durable = None

    # ---- what waits ------------------------------------------------------------------------------------------------------

    def put(self, result: ReadResult) -> Shed:
        """A result to be appended; gives what had to go for it, which is counted."""
        assert self.entrance is not None, "a result for a log that is not ours"
        shed = self.backlog.put(result)
        if shed.readings:
            self.entrance.shed(shed.readings)
        return shed

    def end(self) -> None:
        """The source has ended: that is settled with what it gave."""
        self._pending = replace(self._pending, unsettled=True)

    def heartbeat(self, tick: int) -> None:
        """A promise; it stands in the log behind all that was read before it. One that the readings themselves have kept is no news."""
        known = [each for each in (self._promises.given, self.order.reached) if each is not None]
        if self.entrance is not None and (not known or tick > max(known)):
            waiting = self._promises.waiting
            self._promises = replace(self._promises, waiting=tick if waiting is None else max(tick, waiting))

    def demand(self, change: dict[str, Any]) -> None:
        """A change of demand, for the log."""
        if self.entrance is not None:
            self._demands.append(change)

    @property
    def blocked(self) -> bool:
        """Whether nothing more should be read."""
        return self.disk.state is DiskState.STUCK or self.backlog.full

    @property
    def settled(self) -> bool:
        """Whether all that was read is durable."""
        return not len(self.backlog) and not self._pending.unsettled

    @property
    def due(self) -> int | None:
        """When it wants to write, by the smooth clock; None if nothing waits."""
        waits = not self.settled or self._promises.waiting is not None or bool(self._demands)
        return self.disk.retry_at if self.entrance is not None and waits else None

    # ---- append, make durable --------------------------------------------------------------------------------------------

    def retry_now(self) -> None:
        """Try the disk again without waiting."""
        self.disk = replace(self.disk, retry_at=self._clocks.smooth())

    def write(self) -> None:
        """Append what waits, as far as the disk takes it."""
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
                if batch is not None:
                    self._appended(batch)
                    self.order.check(batch)
                if waiting.result.handle is not None:
                    handles.append(waiting.result.handle)
                self.backlog.pop()
        finally:
            before = self._pending
            self._pending = Pending(before.unsettled or written, (*before.handles, *handles))

    def _appended(self, entry: Entry) -> None:
        """The entry is the last one in the log: into the ring, in which it is read when it is durable."""
        self._pending = replace(self._pending, unsettled=True)
        after = self.log.end
        rows = entry.rows.height if isinstance(entry, Batch) else 0
        at = Offset(after.number - 1, after.position - rows)
        self._distributor.put(self._name, Handed(at, after, entry))

    def settle(self) -> tuple[bool, tuple[object, ...]] | None:
        """Make durable what was appended: whether there were entries, and which handles to acknowledge. None if there was nothing, or the disk refuses."""
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

    # ---- how it is doing -------------------------------------------------------------------------------------------------

    @property
    def ledger(self) -> StreamLedger:
        """The stream's books; of a log that is not ours, as they stand in it."""
        if self.entrance is not None:
            return self.entrance.ledger
        note = self.log.note or {}
        end = self.log.end.position
        return StreamLedger(**note.get("ledger", {"received": end, "appended": end}))

    @property
    def log_end(self) -> Offset:
        """Where the log ends."""
        return self.log.end if self.entrance is not None or self.log.exists else Offset()
