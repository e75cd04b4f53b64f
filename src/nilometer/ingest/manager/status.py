"""How a stream is doing, for people and dashboards."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.dataflow.ledger import StreamLedger
from nilometer.ingest.manager.states import State
from nilometer.log import Offset


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
