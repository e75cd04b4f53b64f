"""How a stream is doing, for people and dashboards."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nilometer.dataflow.ledger import StreamLedger
from nilometer.log import Offset


class State(StrEnum):
    """Of a stream's source. FOLLOWING: another process writes its log, which is read; WAITING: to be tried again; FAILED: not worth trying
    again, for what is wrong with it does not mend itself."""

    CLOSED = "closed"
    OPEN = "open"
    FOLLOWING = "following"
    WAITING = "waiting"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True)
class StreamStatus:
    """`trouble` is why nothing comes, or nothing can be written; `rate` is readings a second of late; `last_arrival` by the wall clock;
    `late` were out of order by more than DELAY since the source was opened; `backlog` are readings that wait to be appended. `expected`,
    `missing` and `silent` as in attendance.py, None if nobody said how often to expect a reading."""

    stream: str
    state: State
    trouble: str | None
    queries: tuple[str, ...]
    ledger: StreamLedger
    rate: float
    last_arrival: int | None
    late: int
    backlog: int
    expected: int | None
    missing: int | None
    sensors: int
    silent: tuple[int | str, ...]
    end: Offset

    @property
    def ended(self) -> bool:
        """Whether the source has nothing more to give; `trouble` says why, if it failed."""
        return self.state in (State.ENDED, State.FAILED)
