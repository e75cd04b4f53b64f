"""The status of a stream, for people and dashboards."""

from __future__ import annotations

from dataclasses import dataclass, field

from nilometer.dataflow.ledger import StreamLedger
from nilometer.ingest.manager.states import SourceState
from nilometer.ingest.payloads import FieldCounts
from nilometer.log import Offset


@dataclass(frozen=True)
class StreamStatus:
    """`trouble`: why no readings come or none can be written. `rate`: recent readings per second.
    `last_arrival`: a time of the wall clock. `late`: readings out of order by more than DELAY since the
    source was opened. `backlog`: readings that wait to be appended. `expected`, `missing` and `silent` are as
    in attendance.py; the first two are None if no interval is known. `fields`: what payloads lack or have beyond
    the declaration. `sessions_lost`: how often, over all times, a broker has lost what it kept for us."""

    stream: str
    state: SourceState
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
    fields: FieldCounts = field(default_factory=FieldCounts)
    sessions_lost: int = 0

    @property
    def ended(self) -> bool:
        """Whether the source has ended or failed. `trouble` says why it failed."""
        return self.state in (SourceState.ENDED, SourceState.FAILED)
