"""How the disk of a log takes what is appended, as a value: its state, why, and when to try again.

                 append refused             flush refused
        READY -----------------> FULL ----------------------+
          ^ ^ <----------------- (tried again)              v
          | |      appended        |   flush refused      STUCK
          | +----------------------|-------------------->   |
          +------------------------------ flushed ----------+

FULL: nothing more can be appended, and what was read waits in the backlog. STUCK: what was appended cannot be made durable; until it can,
nothing is read, appended, handed on or acknowledged.

>>> disk = Disk().refused(DiskEvent.APPEND_REFUSED, "no space", 10)
>>> disk.state.name, disk.trouble, disk.done(DiskEvent.FLUSHED).state.name, disk.done(DiskEvent.APPENDED)
('FULL', 'no space', 'FULL', Disk(state=<DiskState.READY: 1>, trouble=None, retry_at=10))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto


class DiskState(Enum):
    """Of the disk of one log."""

    READY = auto()
    FULL = auto()
    STUCK = auto()


class DiskEvent(Enum):
    """What became of all that waited to be appended, or of what was to be made durable."""

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
class Disk:
    """`trouble` says why it takes nothing, None if it does; before `retry_at`, by the smooth clock, it is not tried again."""

    state: DiskState = DiskState.READY
    trouble: str | None = None
    retry_at: int = 0

    def done(self, event: DiskEvent) -> Disk:
        """It took what it was given."""
        state = self._after(event)
        return replace(self, state=state, trouble=None if state is DiskState.READY else self.trouble)

    def refused(self, event: DiskEvent, trouble: str, retry_at: int) -> Disk:
        """It did not."""
        return Disk(self._after(event), trouble, retry_at)

    def _after(self, event: DiskEvent) -> DiskState:
        following = TRANSITIONS[self.state].get(event)
        assert following is not None, f"{event.name} cannot happen to a disk that is {self.state.name}"
        return following
