"""The state of a log's disk, as a value: whether it accepts writes, why not, and when to try again.

                 append refused             flush refused
        READY -----------------> FULL ----------------------+
          ^ ^ <----------------- (tried again)              v
          | |      appended        |   flush refused      STUCK
          | +----------------------|-------------------->   |
          +------------------------------ flushed ----------+

FULL: nothing more can be appended, and the readings that were read wait in the backlog. STUCK: the appended
records cannot be made durable. Until they can, nothing is read, appended, handed on or acknowledged.

>>> disk = Disk().refused(DiskEvent.APPEND_REFUSED, "no space", 10)
>>> disk.state.name, disk.trouble, disk.done(DiskEvent.FLUSHED).state.name, disk.done(DiskEvent.APPENDED)
('FULL', 'no space', 'FULL', Disk(state=<DiskState.READY: 1>, trouble=None, retry_at=10))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto


class DiskState(Enum):
    """The states of one log's disk."""

    READY = auto()
    FULL = auto()
    STUCK = auto()


class DiskEvent(Enum):
    """The outcome of appending all that waited, or of a flush."""

    APPENDED = auto()
    APPEND_REFUSED = auto()
    FLUSHED = auto()
    FLUSH_REFUSED = auto()


TRANSITIONS: Mapping[DiskState, Mapping[DiskEvent, DiskState]] = {
    DiskState.READY: {
        DiskEvent.APPENDED: DiskState.READY,
        DiskEvent.APPEND_REFUSED: DiskState.FULL,
        DiskEvent.FLUSHED: DiskState.READY,
        DiskEvent.FLUSH_REFUSED: DiskState.STUCK,
    },
    DiskState.FULL: {
        DiskEvent.APPENDED: DiskState.READY,
        DiskEvent.APPEND_REFUSED: DiskState.FULL,
        DiskEvent.FLUSHED: DiskState.FULL,
        DiskEvent.FLUSH_REFUSED: DiskState.STUCK,
    },
    DiskState.STUCK: {
        DiskEvent.FLUSHED: DiskState.READY,
        DiskEvent.FLUSH_REFUSED: DiskState.STUCK,
    },
}


@dataclass(frozen=True)
class DiskHealth:
    """`trouble` says why the disk accepts nothing; None if it does. The next try is at `retry_at`, by the
    smooth clock."""

    state: DiskState = DiskState.READY
    trouble: str | None = None
    retry_at: int = 0

    def done(self, event: DiskEvent) -> DiskHealth:
        """The disk after a write that succeeded."""
        state = self._after(event)
        return replace(self, state=state, trouble=None if state is DiskState.READY else self.trouble)

    def refused(self, event: DiskEvent, trouble: str, retry_at: int) -> DiskHealth:
        """The disk after a write that failed."""
        return DiskHealth(self._after(event), trouble, retry_at)

    def _after(self, event: DiskEvent) -> DiskState:
        following = TRANSITIONS[self.state].get(event)
        assert following is not None, f"{event.name} cannot happen to a disk that is {self.state.name}"
        return following
