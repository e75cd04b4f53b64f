"""The states of a stream's source and the transitions between them, as data.

                  log busy                      opened              end
    FOLLOWING <----------- CLOSED, WAITING -------------> OPEN -----------> ENDED
        |                   ^     ^   |                   |  |                |
        | log taken, raised |     |   | refused           |  | raised         | raised
        +-------------------+     |   v                   |  +-----> WAITING <+
                                  | FAILED <--------------+
                                  |             refused
       close, from any state -> CLOSED

A source that raised an error waits and is opened again. A source that was refused, because its data or
settings are wrong, has failed: it is tried again only after someone closes and opens it. The disk of its log
has a state machine of its own (disk.py): a source is read, waits or ends whether there is room or not.

>>> after(State.OPEN, Event.END)
<State.ENDED: 'ended'>
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto


class SourceState(StrEnum):
    """The states of a stream's source. FOLLOWING: another process writes the log, and this one reads it.
    WAITING: the source will be opened again. FAILED: it will not, because the error would come again."""

    CLOSED = "closed"
    OPEN = "open"
    FOLLOWING = "following"
    WAITING = "waiting"
    ENDED = "ended"
    FAILED = "failed"


class Event(Enum):
    """The events that change the state of a source."""

    LOG_BUSY = auto()
    """Another process writes the log."""
    LOG_TAKEN = auto()
    """This process has become the writer of the log."""
    OPENED = auto()
    """The adapter is open. It is opened again when the clock has jumped."""
    RAISED = auto()
    """The adapter or the followed log raised an error that may pass."""
    REFUSED = auto()
    """The data or the settings are wrong."""
    END = auto()
    """The source has nothing more to give."""
    CLOSE = auto()
    """No query needs the source."""


_TRIED = {
    Event.LOG_BUSY: SourceState.FOLLOWING,
    Event.LOG_TAKEN: SourceState.WAITING,
    Event.OPENED: SourceState.OPEN,
    Event.RAISED: SourceState.WAITING,
    Event.REFUSED: SourceState.FAILED,
    Event.CLOSE: SourceState.CLOSED,
}

TRANSITIONS: Mapping[SourceState, Mapping[Event, SourceState]] = {
    SourceState.CLOSED: _TRIED,
    SourceState.WAITING: _TRIED,
    SourceState.FOLLOWING: {
        Event.LOG_BUSY: SourceState.FOLLOWING,
        Event.LOG_TAKEN: SourceState.WAITING,
        Event.RAISED: SourceState.WAITING,
        Event.CLOSE: SourceState.CLOSED,
    },
    SourceState.OPEN: {
        Event.OPENED: SourceState.OPEN,
        Event.RAISED: SourceState.WAITING,
        Event.REFUSED: SourceState.FAILED,
        Event.END: SourceState.ENDED,
        Event.CLOSE: SourceState.CLOSED,
    },
    # An acknowledgement may still raise. Then the readings that were not acknowledged are read again.
    SourceState.ENDED: {Event.RAISED: SourceState.WAITING, Event.CLOSE: SourceState.CLOSED},
    SourceState.FAILED: {Event.CLOSE: SourceState.CLOSED},
}


def after(state: SourceState, event: Event) -> SourceState:
    """The state that follows."""
    following = TRANSITIONS[state].get(event)
    assert following is not None, f"{event.name} cannot happen to a source that is {state.name}"
    return following
