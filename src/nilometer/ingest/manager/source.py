"""One stream's source: opens, reads, acknowledges and closes its adapter, and passes the readings to the log
(recorder.py).

A source that raises an error is closed and opened again later, after growing waits. A source whose data or
settings are wrong (DataError, ConfigurationError) has failed and stays closed: it would raise the same error
forever. If another process writes the log, the log is followed instead (follower.py), and taken over when
that process releases it. states.py has the states and their transitions.

The laws: every acknowledged reading is durable, or counted as shed. A failure here touches no other stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.failures import Caught
from nilometer.errors import ConfigurationError, DataError, NilometerError
from nilometer.ingest.adapters.adapter import Adapter, Clock, Command, ReadResult, Status
from nilometer.ingest.adapters.wake import Wake
from nilometer.ingest.manager.arrivals import Arrivals
from nilometer.ingest.manager.attendance import Attended
from nilometer.ingest.manager.backoff import Backoff
from nilometer.ingest.manager.clocks import Clocks
from nilometer.ingest.manager.distributor import Distributor
from nilometer.ingest.manager.follower import Follower
from nilometer.ingest.manager.recorder import Recorder
from nilometer.ingest.manager.settings import ManagerSettings
from nilometer.ingest.manager.states import Event, SourceState, after
from nilometer.ingest.manager.status import StreamStatus
from nilometer.log import BusyError, Offset, StreamLog
from nilometer.types import SECOND

AdapterFor = Callable[[Stream, Clock], Adapter]
"""Makes the adapter of a stream, without opening it."""


@dataclass(frozen=True)
class Turn:
    """The time of the source's next turn, by the smooth clock. `now`: read again at once, because the last
    read brought readings."""

    at: int
    now: bool = False


class Source:
    """Reads one stream, in one thread. Its entries go to `distributor`. `bell` rings when it has readings."""

    def __init__(
        self,
        stream: Stream,
        log: StreamLog,
        adapter_for: AdapterFor,
        clocks: Clocks,
        settings: ManagerSettings,
        distributor: Distributor,
        bell: threading.Event,
        declared: Sequence[int | str] = (),
    ) -> None:
        self.stream = stream
        self.state = SourceState.CLOSED
        self.begin = Offset()
        """The offset from which entries are handed on when the source is opened."""
        self.recorder = Recorder(stream, log, clocks, settings, distributor)
        self._arrivals = Arrivals(stream, clocks, declared)
        self._make = adapter_for
        self._clocks = clocks
        self._settings = settings
        self._distributor = distributor
        self._bell = bell
        self._adapter: Adapter | None = None
        self._follower: Follower | None = None
        self._trouble: str | None = None
        self._backoff = Backoff(settings.retry, settings.retry_most)
        self._turn = Turn(clocks.smooth())
        self._sessions_seen = 0
        self.sessions_lost = 0
        """How often, since this process began, a server has lost the session in which it kept readings for us."""
        # How far this process has read each part, appended or not; None before the first read.
        self._read_to: dict[str, int] | None = None

    def _happened(self, event: Event) -> None:
        self.state = after(self.state, event)

    # ---- open and close --------------------------------------------------------------------------------------------------

    def prepare(self) -> Adapter:
        """Make the adapter. A wrong address raises here, in the call that registers the stream."""
        adapter = self._adapter = self._make(self.stream.arriving, self._clocks.clock)
        if adapter.paced:
            adapter.clock = self._clocks.smooth
        return adapter

    def open(self) -> None:
        """Become the writer of the log, or its follower, and open the source. A failure is retried later."""
        try:
            if self.recorder.entrance is None:
                self._enter()
            if self.state is not SourceState.FOLLOWING:
                self._open_adapter()
        except (DataError, ConfigurationError) as error:
            self._failed_for_good(error)
        except Caught as error:
            self._failed(error)

    def _enter(self) -> None:
        log = self.recorder.log
        if self._follower is None:
            self._follower = Follower(self.stream.name.lower(), log, self.begin, self._distributor)
        try:
            entrance = self.recorder.ask()
        except BusyError as error:
            self._happened(Event.LOG_BUSY)
            self._trouble = error.message
            return
        # Hand on the entries that the other writer appended since the last look.
        self._follower.follow()
        self._follower = None
        self.recorder.begin(entrance)
        self._read_to = None
        self._happened(Event.LOG_TAKEN)

    def _open_adapter(self) -> None:
        adapter = self._adapter if self._adapter is not None else self.prepare()
        entrance = self.recorder.entrance
        assert entrance is not None, "a source whose log is not ours is not opened"
        adapter.begin_after(entrance.greatest)
        adapter.session_begun = adapter.session in entrance.sessions
        self._sessions_seen = 0
        adapter.open()
        if self._read_to is None:
            self._read_to = dict(entrance.consumed)
        if self._read_to:
            adapter.resume(self._read_to)
        if isinstance(adapter.wake, Wake):
            adapter.wake.bell = self._bell
        self._happened(Event.OPENED)
        self._trouble = None
        self._turn = replace(self._turn, now=True)

    def close(self) -> bool:
        """Close the source, which no query needs any more. Returns False if readings still wait to be
        appended: they are kept."""
        self.recorder.retry_now()
        self.write()
        self.settle()
        self._close_adapter()
        self._happened(Event.CLOSE)
        self._follower = None
        return self.finish()

    def finish(self) -> bool:
        """Append the readings that wait and close the log. Returns whether it is closed."""
        self.write()
        self.settle()
        return self.recorder.finish()

    def abandon(self) -> None:
        """Release everything without writing, as if the process had died."""
        self._close_adapter()
        self.recorder.abandon()
        self._happened(Event.CLOSE)

    def _close_adapter(self) -> None:
        adapter, self._adapter = self._adapter, None
        if adapter is not None:
            try:
                adapter.close()
            except Caught as error:
                self._trouble = _text(error)

    def _failed(self, error: BaseException) -> None:
        self._close_adapter()
        wait, self._backoff = self._backoff.failed()
        self._happened(Event.RAISED)
        self._trouble = f"{_text(error)}; trying again in {wait / SECOND:g} s"
        self._turn = replace(self._turn, at=self._clocks.smooth() + wait)

    def _failed_for_good(self, error: NilometerError) -> None:
        """Close the source without a retry, because the error would come again. It is opened again when a
        query registers for the stream after all others have left."""
        self._close_adapter()
        self._happened(Event.REFUSED)
        self._trouble = _text(error)

    # ---- a turn ----------------------------------------------------------------------------------------------------------

    @property
    def due(self) -> int | None:
        """The time of the next turn, by the smooth clock; None: when the adapter's event is set."""
        moments = [self.recorder.due]
        if self.state in (SourceState.WAITING, SourceState.FOLLOWING):
            moments.append(self._turn.at)
        elif self.state is SourceState.OPEN and not self.recorder.blocked:
            moments.append(self._read_due())
        return min((moment for moment in moments if moment is not None), default=None)

    def _read_due(self) -> int | None:
        adapter = self._adapter
        assert adapter is not None
        now = self._clocks.smooth()
        if self._turn.now or (adapter.wake is not None and adapter.wake.is_set()):
            return now
        asked = adapter.due
        if asked is not None:
            clock = now if adapter.paced else self._clocks.clock()
            return max(self._turn.at, asked - clock + now)
        return None if isinstance(adapter.wake, Wake) else self._turn.at

    def read(self) -> ReadResult | None:
        """Read the source once, if it is due. The readings wait to be appended."""
        now = self._clocks.smooth()
        match self.state:
            case SourceState.WAITING if now >= self._turn.at:
                self.open()
            case SourceState.FOLLOWING if now >= self._turn.at:
                self._turn = replace(self._turn, at=now + self._settings.look)
                self._look_for_takeover(now)
            case _:
                pass
        if self.state is not SourceState.OPEN or self.recorder.blocked:
            return None
        assert self._adapter is not None
        try:
            result = self._adapter.read()
        except (DataError, ConfigurationError) as error:
            self._failed_for_good(error)
            return None
        except Caught as error:
            self._failed(error)
            return None
        self._turn = Turn(now + self._settings.look, result.status is Status.NEW_VALUE)
        self._look_at_session(self._adapter)
        if result.status is Status.END:
            self._happened(Event.END)
            self.recorder.end()
        if result.received or result.handle is not None:
            self._take(result, self._adapter)
        return result

    def _look_at_session(self, adapter: Adapter) -> None:
        """Enter into the books whether the server has our session, or has lost it since the last look."""
        entrance, lost = self.recorder.entrance, adapter.sessions_lost
        if entrance is None or adapter.session is None:
            return
        if lost > self._sessions_seen or (adapter.session_begun and adapter.session not in entrance.sessions):
            entrance.session(adapter.session, lost - self._sessions_seen)
            self.sessions_lost += lost - self._sessions_seen
            self._sessions_seen = lost

    def _take(self, result: ReadResult, adapter: Adapter) -> None:
        self._backoff = self._backoff.succeeded()
        if result.handle is not None:
            # A handle is valid only for the adapter that gave it, not for one that was opened after a
            # failure.
            result = replace(result, handle=(adapter, result.handle))
        self._arrivals.heard(result)
        if result.sequence is not None:
            before = (self._read_to or {}) if result.kept is None else dict(result.kept)
            self._read_to = before | {result.part: result.sequence + result.received}
        if not result.received:
            # The result has presences only: there is nothing to append, so it can be acknowledged at once.
            self._acknowledge([result.handle])
            return
        shed = self.recorder.put(result)
        self._acknowledge([handle for handle in shed.handles if handle is not None], shed=True)

    def _look_for_takeover(self, now: int) -> None:
        """Follow the other process's log, and check now and then whether it has been released."""
        assert self._follower is not None, "who follows has a follower"
        try:
            self._follower.follow()
            if self._follower.asks(now, self._settings.retry):
                self._enter()
        except Caught as error:
            self._failed(error)
            return
        if self.recorder.entrance is not None:
            self.open()

    def write(self) -> None:
        """Append the readings that wait, as far as the disk has room."""
        self.recorder.write()

    def settle(self) -> bool:
        """Flush the appended readings, so that queries may read them, and acknowledge them. Returns whether
        there were any."""
        settled = self.recorder.settle()
        if settled is None:
            return False
        entries, handles = settled
        self._acknowledge(handles)
        if self.state is SourceState.ENDED and self.recorder.settled:
            self._close_adapter()
        return entries or bool(handles)

    def _acknowledge(self, handles: Iterable[object], *, shed: bool = False) -> None:
        try:
            for handle in handles:
                assert isinstance(handle, tuple)
                adapter, own = handle
                if isinstance(adapter, Future):
                    adapter.set_result(not shed)
                elif self._adapter is not None and adapter is self._adapter:
                    (self._adapter.gave_up if shed else self._adapter.acknowledge)(own)
        except Caught as error:
            self._failed(error)

    def take_in(self, result: ReadResult) -> Future[bool]:
        """Append readings that a person brings, such as a mended dead letter. The future is true once they are durable,
        and false if they were shed."""
        if self.recorder.entrance is None:
            raise ConfigurationError(
                f"the source of '{self.stream.name}' is not open here: {self.state.value}",
                hint="try again when it is open",
            )
        done: Future[bool] = Future()
        shed = self.recorder.put(replace(result, handle=(done, None)))
        self._acknowledge([handle for handle in shed.handles if handle is not None], shed=True)
        return done

    # ---- messages to the source ------------------------------------------------------------------------------------------

    def heartbeat(self, tick: int) -> None:
        """Append a heartbeat to the log, behind all readings that were read before it."""
        self.recorder.heartbeat(tick)

    def demand(self, change: dict[str, Any]) -> None:
        """Record a change of demand in the log."""
        self.recorder.demand(change)

    def command(self, sensor: int | str, command: Command) -> bool:
        """Send a command to a sensor. Returns False if it cannot be sent."""
        if self._adapter is None or self.state is not SourceState.OPEN:
            return False
        try:
            return self._adapter.command(sensor, command)
        except Caught as error:
            self._failed(error)
            return False

    def clock_jumped(self) -> None:
        """Reopen a source that waits for a time of the wall clock: after a jump it would wait too long, or
        not at all."""
        adapter = self._adapter
        if (
            self.state is SourceState.OPEN
            and adapter is not None
            and not adapter.paced
            and adapter.due is not None
        ):
            try:
                adapter.close()
                self._open_adapter()
            except Caught as error:
                self._failed(error)

    def expect(self, interval: int | None, each: pl.DataFrame | None = None) -> None:
        """Expect a reading of each sensor per `interval` from now on; for the sensors in `each` (id,
        interval), per their own interval."""
        self._arrivals.attendance.expect(interval, self._clocks.smooth(), each)

    # ---- status ----------------------------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether the source has ended or failed (see `trouble`), and all its readings are handed on."""
        return self.state in (SourceState.ENDED, SourceState.FAILED) and self.recorder.settled

    @property
    def trouble(self) -> str | None:
        """The reason why no readings come or none can be written; None if there is no problem."""
        trouble = self.recorder.disk.trouble or self._trouble
        return self._adapter.trouble if trouble is None and self._adapter is not None else trouble

    def status(self, queries: tuple[str, ...]) -> StreamStatus:
        """The status of the stream, with the names of the queries that read it."""
        now = self._clocks.smooth()
        attended = Attended(None, None, 0, ())
        if self.state in (SourceState.OPEN, SourceState.WAITING):
            attended = self._arrivals.attendance.report(now)
        return StreamStatus(
            self.stream.name,
            self.state,
            self.trouble,
            queries,
            self.recorder.ledger,
            self._arrivals.rate(now),
            self._arrivals.last,
            self.recorder.order.late,
            self.recorder.backlog.readings,
            attended.expected,
            attended.missing,
            attended.sensors,
            attended.silent,
            self.recorder.log_end,
            self.recorder.fields,
            self.recorder.sessions_lost,
        )


def _text(error: BaseException) -> str:
    if isinstance(error, NilometerError):
        return error.message if error.detail is None else f"{error.message}: {error.detail}"
    return str(error) or type(error).__name__
