"""One stream's source, from its adapter to its log: read, append, make durable, acknowledge; and what happens when any of these fails.

A source that raises is closed and opened again later, after growing waits; one whose data or settings are wrong (DataError,
ConfigurationError) has failed and stays closed: it would give the same error for ever. What was read and cannot be appended (a full disk) waits in a
bounded backlog; then the stream's policy says whether to stop reading or to shed. A log that another process writes is followed instead, and
taken over when that process lets go of it.

The laws: a handle is acknowledged after its rows are durable in the log, or counted as shed (a count that is durable with the next
record: a process that dies while its disk is full forgets how many it shed, never what it appended); entries are handed on once, in the order of the log,
and only when they are durable. A failure here touches no other stream.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.ledger import StreamLedger
from nilometer.dataflow.sources import Batch, Entry, Heartbeat
from nilometer.errors import ConfigurationError, DataError, NilometerError, ResourceError
from nilometer.ingest.adapters.adapter import Adapter, Clock, Command, ReadResult, Status
from nilometer.ingest.adapters.wake import Wake
from nilometer.ingest.manager.attendance import Attendance, Attended
from nilometer.ingest.manager.backlog import Backlog
from nilometer.ingest.manager.clocks import Clocks
from nilometer.ingest.manager.entrance import Entrance
from nilometer.ingest.manager.handed import Handed, handed
from nilometer.ingest.manager.settings import ManagerSettings
from nilometer.ingest.manager.status import State, StreamStatus
from nilometer.log import BusyError, Offset, StreamLog
from nilometer.log.reader import Cursor
from nilometer.operators.frames import dtype
from nilometer.types import SECOND, floor_to

AdapterFor = Callable[[Stream, Clock], Adapter]
"""The adapter of a stream, not yet opened."""

RATE_SPAN = 10 * SECOND
"""Over about so long a rate is measured."""

DEMANDS = 10_000
"""So many changes of demand wait for room in the log; then the oldest are forgotten."""


class Source:
    """`hand_on` is called with each entry once it is durable. Of one thread."""

    def __init__(
        self,
        stream: Stream,
        log: StreamLog,
        adapter_for: AdapterFor,
        clocks: Clocks,
        settings: ManagerSettings,
        hand_on: Callable[[Handed], None],
        made_durable: Callable[[Offset], None],
        bell: threading.Event,
        declared: Sequence[int | str] = (),
    ) -> None:
        self.stream = stream
        self.log = log
        self.state = State.CLOSED
        self.begin = Offset()
        """From where on entries are handed on, when it is opened."""
        self._make = adapter_for
        self._clocks = clocks
        self._settings = settings
        self._hand_on = hand_on
        self._made_durable = made_durable
        self.durable: Offset | None = None
        self._bell = bell
        self.adapter: Adapter | None = None
        self._entrance: Entrance | None = None
        self._follower: Cursor | None = None
        self.backlog = Backlog(
            settings.backlog_bytes, settings.policy(stream.name), keep_every=settings.keep_every
        )
        # Appended, and not known to be durable yet.
        self._handles: list[object] = []
        self._unsettled = False
        self._stuck = False
        self._promise: int | None = None
        self._promised: int | None = None
        self._demands: list[dict[str, Any]] = []
        self._trouble: str | None = None
        self._disk_trouble: str | None = None
        self._retry_write = self._take_over = clocks.smooth()
        self._failures = 0
        self._next = clocks.smooth()
        self._brought = False
        # How far each part was read here, appended or not; None before the first.
        self._read_to: dict[str, int] | None = None
        self._rate, self._rated = 0.0, clocks.smooth()
        self._last_arrival: int | None = None
        self._greatest: int | None = None
        self._late = 0
        known = pl.Series("id", list(declared)).cast(dtype(stream.id_type), strict=False)
        self._attendance = Attendance(stream.interval, clocks.smooth(), known)

    # ---- open and close --------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the adapter, so that a wrong address is an error of whoever registers the stream."""
        self.adapter = self._make(self.stream, self._clocks.clock)
        if self.adapter.paced:
            self.adapter.clock = self._clocks.smooth

    def open(self) -> None:
        """Become the writer of the log, or its follower, and open the source; what fails is tried again later."""
        try:
            if self._entrance is None:
                self._enter()
            if self.state is not State.FOLLOWING:
                self._open_adapter()
        except (DataError, ConfigurationError) as error:
            self._failed_for_good(error)
        except Exception as error:
            self._failed(error)

    def _enter(self) -> None:
        if self._follower is None:
            self._follower = Cursor(self.log.files, self.begin, self.log.columns or None)
        try:
            entrance = Entrance(self.stream, self.log, source=self.stream.url or "", keys=self._settings.keys)
        except BusyError as error:
            self.state = State.FOLLOWING
            self._trouble = error.message
            return
        # What another writer wrote since we last looked.
        self._follow()
        self._follower = None
        self._entrance = entrance
        self.durable = self.log.end
        self._read_to = None
        self.state = State.WAITING

    def _open_adapter(self) -> None:
        if self.adapter is None:
            self.prepare()
        adapter, entrance = self.adapter, self._entrance
        assert adapter is not None
        assert entrance is not None
        adapter.begin_after(entrance.greatest)
        adapter.open()
        if self._read_to is None:
            self._read_to = dict(entrance.consumed)
        if self._read_to:
            adapter.resume(self._read_to)
        if isinstance(adapter.wake, Wake):
            adapter.wake.bell = self._bell
        self.state = State.OPEN
        self._trouble = None
        self._brought = True

    def close(self) -> bool:
        """No query needs it. What was read stays until it is appended: False if that is still to come."""
        self._retry_write = self._clocks.smooth()
        self.write()
        self.settle()
        self._close_adapter()
        self.state = State.CLOSED
        self._follower = None
        return self.finish()

    def finish(self) -> bool:
        """Append what waits and let go of the log; whether that is done."""
        if self._entrance is None:
            self.log.close()
            return True
        self.write()
        self.settle()
        if len(self.backlog) or self._unsettled:
            return False
        try:
            self._entrance.settle()
            self.log.close()
        except ResourceError as error:
            self._full(error)
            return False
        self._entrance = None
        return True

    def abandon(self) -> None:
        """Let go of everything as the death of the process would."""
        self._close_adapter()
        self.log.abandon()
        self._entrance = None
        self.state = State.CLOSED

    def _close_adapter(self) -> None:
        adapter, self.adapter = self.adapter, None
        if adapter is not None:
            try:
                adapter.close()
            except Exception as error:
                self._trouble = _text(error)

    def _failed(self, error: Exception) -> None:
        self._close_adapter()
        wait = min(self._settings.retry << min(self._failures, 30), self._settings.retry_most)
        self._failures += 1
        self.state = State.WAITING
        self._trouble = f"{_text(error)}; trying again in {wait / SECOND:g} s"
        self._next = self._clocks.smooth() + wait

    def _failed_for_good(self, error: NilometerError) -> None:
        """What is wrong does not mend itself; a query that needs the stream when no other does opens it anew."""
        self._close_adapter()
        self.state = State.FAILED
        self._trouble = _text(error)

    # ---- a turn ----------------------------------------------------------------------------------------------------------

    @property
    def due(self) -> int | None:
        """When it wants its turn, by the smooth clock; None: when its event is set."""
        moments = []
        if self._entrance is not None and (
            len(self.backlog) or self._unsettled or self._promise is not None or self._demands
        ):
            moments.append(self._retry_write)
        if self.state in (State.WAITING, State.FOLLOWING):
            moments.append(self._next)
        elif self.state is State.OPEN and not self._blocked:
            asked = self._read_due()
            if asked is not None:
                moments.append(asked)
        return min(moments, default=None)

    def _read_due(self) -> int | None:
        adapter = self.adapter
        assert adapter is not None
        now = self._clocks.smooth()
        if self._brought or (adapter.wake is not None and adapter.wake.is_set()):
            return now
        asked = adapter.due
        if asked is not None:
            clock = now if adapter.paced else self._clocks.clock()
            return max(self._next, asked - clock + now)
        return None if isinstance(adapter.wake, Wake) else self._next

    @property
    def _blocked(self) -> bool:
        return self._stuck or self.backlog.full

    def read(self) -> ReadResult | None:
        """One read of the source, if it is its turn; what came is in the backlog."""
        now = self._clocks.smooth()
        match self.state:
            case State.WAITING if now >= self._next:
                self.open()
            case State.FOLLOWING if now >= self._next:
                self._next = now + self._settings.look
                self._look_for_takeover()
            case _:
                pass
        if self.state is not State.OPEN or self._blocked:
            return None
        assert self.adapter is not None
        try:
            result = self.adapter.read()
        except (DataError, ConfigurationError) as error:
            self._failed_for_good(error)
            return None
        except Exception as error:
            self._failed(error)
            return None
        self._brought = result.status is Status.NEW_VALUE
        self._next = now + self._settings.look
        if result.received or result.handle is not None:
            self._take(result, self.adapter, now)
        if result.status is Status.END:
            self.state = State.ENDED
            self._unsettled = True
        return result

    def _take(self, result: ReadResult, adapter: Adapter, now: int) -> None:
        self._failures = 0
        if result.handle is not None:
            # A handle means something to the adapter that gave it, not to one that was opened after it failed.
            result = replace(result, handle=(adapter, result.handle))
        self._note(result, now)
        if result.sequence is not None:
            before = (self._read_to or {}) if result.kept is None else dict(result.kept)
            self._read_to = before | {result.part: result.sequence + result.received}
        if not result.received:
            # Presences alone: nothing to append, and so nothing to lose.
            self._acknowledge([result.handle])
            return
        shed = self.backlog.put(result)
        if shed.readings:
            assert self._entrance is not None
            self._entrance.shed(shed.readings)
        self._acknowledge([handle for handle in shed.handles if handle is not None])

    def _look_for_takeover(self) -> None:
        """Read on in another's log, and see now and then whether it is still another's."""
        now = self._clocks.smooth()
        try:
            self._follow()
            if now >= self._take_over:
                self._take_over = now + self._settings.retry
                self._enter()
        except Exception as error:
            self._failed(error)
            return
        if self._entrance is not None:
            self.open()

    def _follow(self) -> None:
        assert self._follower is not None
        for entry in self._follower:
            self._hand_on(handed(entry))
            self._made_durable(entry.after)

    # ---- append, make durable, acknowledge -------------------------------------------------------------------------------

    def write(self) -> None:
        """Append what waits, as far as the disk takes it."""
        entrance = self._entrance
        if entrance is None or self._stuck or self._clocks.smooth() < self._retry_write:
            return
        try:
            while (waiting := self.backlog.head) is not None:
                batch = entrance.admit(
                    waiting.result, self._clocks.clock(), lead=self._clocks.lead, end=waiting.end
                )
                self._unsettled = True
                if batch is not None:
                    self._hand_on(self._last(batch))
                    self._check_order(batch)
                if waiting.result.handle is not None:
                    self._handles.append(waiting.result.handle)
                self.backlog.pop()
            if self._promise is not None:
                self.log.heartbeat(self._promise)
                self._unsettled = True
                self._hand_on(self._last(Heartbeat(self._promise)))
                self._promised, self._promise = self._promise, None
            while self._demands:
                self.log.writer.demand(self._demands[0])
                self._unsettled = True
                self._demands.pop(0)
            self._disk_trouble = None
        except ResourceError as error:
            self._full(error)

    def _last(self, entry: Entry) -> Handed:
        """The entry that was appended last."""
        after = self.log.end
        rows = entry.rows.height if isinstance(entry, Batch) else 0
        return Handed(Offset(after.number - 1, after.position - rows), after, entry)

    def settle(self) -> bool:
        """Make durable what was appended; then hand it on and acknowledge it. Whether there was anything."""
        if not self._unsettled or (self._stuck and self._clocks.smooth() < self._retry_write):
            return False
        try:
            if self._entrance is not None:
                self.log.flush()
        except ResourceError as error:
            self._stuck = True
            self._full(error)
            return False
        if self._stuck:
            self._stuck, self._disk_trouble = False, None
        self._unsettled = False
        handles, self._handles = self._handles, []
        before = self.durable
        if self._entrance is not None:
            self.durable = self.log.end
            self._made_durable(self.durable)
        self._acknowledge(handles)
        if self.state is State.ENDED and not len(self.backlog):
            self._close_adapter()
        return bool(handles) or self.durable != before

    def _full(self, error: ResourceError) -> None:
        self._disk_trouble = error.message
        self._retry_write = self._clocks.smooth() + self._settings.retry

    def _acknowledge(self, handles: Iterable[object]) -> None:
        try:
            for handle in handles:
                assert isinstance(handle, tuple)
                adapter, own = handle
                if self.adapter is not None and adapter is self.adapter:
                    self.adapter.acknowledge(own)
        except Exception as error:
            self._failed(error)

    # ---- what is said to it ----------------------------------------------------------------------------------------------

    def heartbeat(self, tick: int) -> None:
        """A promise; it stands in the log behind all that was read before it. One that the readings themselves have kept is no news."""
        known = [] if self._promised is None else [self._promised]
        if self._greatest is not None:
            every = self.stream.every
            known.append(
                (self._greatest if every is None else floor_to(self._greatest, every)) - self.stream.delay
            )
        if self._entrance is not None and (not known or tick > max(known)):
            self._promise = tick if self._promise is None else max(tick, self._promise)

    def demand(self, change: dict[str, Any]) -> None:
        """A change of demand, for the log."""
        if self._entrance is not None:
            self._demands = [*self._demands[-DEMANDS + 1 :], change]

    def command(self, sensor: int | str, command: Command) -> bool:
        """Tell a sensor what is wanted of it."""
        if self.adapter is None or self.state is not State.OPEN:
            return False
        try:
            return self.adapter.command(sensor, command)
        except Exception as error:
            self._failed(error)
            return False

    def clock_jumped(self) -> None:
        """A source that waits for a moment of the wall clock would wait too long, or not at all: it begins anew."""
        adapter = self.adapter
        if self.state is State.OPEN and adapter is not None and not adapter.paced and adapter.due is not None:
            try:
                adapter.close()
                self._open_adapter()
            except Exception as error:
                self._failed(error)

    def expect(self, interval: int | None, each: pl.DataFrame | None = None) -> None:
        """So often its sensors are expected to be heard from now on, those in `each` (id, interval) as that says."""
        self._attendance.expect(interval, self._clocks.smooth(), each)

    # ---- how it is doing -------------------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether the source has nothing more to give, and all of it is handed on. So it is with one that failed; `trouble` says why."""
        over = self.state in (State.ENDED, State.FAILED)
        return over and not len(self.backlog) and not self._unsettled

    @property
    def ledger(self) -> StreamLedger:
        """The stream's books; of a log that is not ours, as they stand in it."""
        if self._entrance is not None:
            return self._entrance.ledger
        note = self.log.note or {}
        end = self.log.end.position
        return StreamLedger(**note.get("ledger", {"received": end, "appended": end}))

    @property
    def trouble(self) -> str | None:
        """Why nothing comes, or nothing can be written; None when all is well."""
        trouble = self._disk_trouble or self._trouble
        return self.adapter.trouble if trouble is None and self.adapter is not None else trouble

    def status(self, queries: tuple[str, ...]) -> StreamStatus:
        """All of it."""
        now = self._clocks.smooth()
        attended = Attended(None, None, 0, ())
        if self.state in (State.OPEN, State.WAITING):
            attended = self._attendance.report(now)
        return StreamStatus(
            self.stream.name,
            self.state,
            self.trouble,
            queries,
            self.ledger,
            self._rate_at(now),
            self._last_arrival,
            self._late,
            self.backlog.readings,
            attended.expected,
            attended.missing,
            attended.sensors,
            attended.silent,
            self.log.end if self._entrance is not None or self.log.exists else Offset(),
        )

    def _rate_at(self, now: int) -> float:
        return self._rate * math.exp(-max(0, now - self._rated) / RATE_SPAN)

    def _note(self, result: ReadResult, now: int) -> None:
        self._rate = self._rate_at(now) + result.received * SECOND / RATE_SPAN
        self._rated = now
        self._last_arrival = result.arrived if result.arrived is not None else self._clocks.clock()
        rows = result.rows
        if not rows.height:
            return
        identity = self.stream.column("id")
        if identity is not None:
            self._attendance.heard(rows.get_column(identity.name), now)

    def _check_order(self, batch: Batch) -> None:
        """In order within DELAY (steam.txt section 5: the manager verifies the order of time stamps)."""
        time = self.stream.column("time")
        assert time is not None, "a stream without a time"
        times = batch.rows.get_column(time.name).to_numpy()
        greatest = self._greatest if self._greatest is not None else int(times[0])
        reached = np.maximum.accumulate(np.concatenate(([greatest], times)))
        self._late += int((times < reached[:-1] - self.stream.delay).sum())
        self._greatest = int(reached[-1])


def _text(error: Exception) -> str:
    if isinstance(error, NilometerError):
        return error.message if error.detail is None else f"{error.message}: {error.detail}"
    return str(error) or type(error).__name__
