"""The states of a stream's source, and what leads from one to the next, as data.

                  log busy                      opened              end
    FOLLOWING <----------- CLOSED, WAITING -------------> OPEN -----------> ENDED
        |                   ^     ^   |                   |  |                |
        | log taken, raised |     |   | refused           |  | raised         | raised
        +-------------------+     |   v                   |  +-----> WAITING <+
                                  | FAILED <--------------+
                                  |             refused
       close, from any state -> CLOSED

A source that raised waits and is opened again. One that was refused (its data or settings are wrong) has failed, and only who
closes and opens it tries it again. The states of its log's disk are a machine of their own (disk.py): a source is read, waits or ends
whether there is room or not.

>>> after(State.OPEN, Event.END)
<State.ENDED: 'ended'>
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto


class State(StrEnum):
    """Of a stream's source. FOLLOWING: another process writes its log, which is read; WAITING: to be tried again; FAILED: not worth trying
    again, for what is wrong with it does not mend itself."""

    CLOSED = "closed"
    OPEN = "open"
    FOLLOWING = "following"
    WAITING = "waiting"
    ENDED = "ended"
    FAILED = "failed"


class Event(Enum):
    """What happens to a source."""

    LOG_BUSY = auto()
    """Another process writes the log."""
    LOG_TAKEN = auto()
    """The log is ours to write."""
    OPENED = auto()
    """The adapter is open; it is opened anew when the clock has jumped."""
    RAISED = auto()
    """The adapter or the followed log raised an error that may pass."""
    REFUSED = auto()
    """The data or the settings are wrong."""
    END = auto()
    """The source has nothing more to give."""
    CLOSE = auto()
    """No query needs it."""


_TRIED = {
    Event.LOG_BUSY: State.FOLLOWING,
    Event.LOG_TAKEN: State.WAITING,
    Event.OPENED: State.OPEN,
    Event.RAISED: State.WAITING,
    Event.REFUSED: State.FAILED,
    Event.CLOSE: State.CLOSED,
}

TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.CLOSED: _TRIED,
    State.WAITING: _TRIED,
    State.FOLLOWING: {
        Event.LOG_BUSY: State.FOLLOWING,
        Event.LOG_TAKEN: State.WAITING,
        Event.RAISED: State.WAITING,
        Event.CLOSE: State.CLOSED,
    },
    State.OPEN: {
        Event.OPENED: State.OPEN,
        Event.RAISED: State.WAITING,
        Event.REFUSED: State.FAILED,
        Event.END: State.ENDED,
        Event.CLOSE: State.CLOSED,
    },
    # An acknowledgement may still raise: then what was not acknowledged is read again.
    State.ENDED: {Event.RAISED: State.WAITING, Event.CLOSE: State.CLOSED},
    State.FAILED: {Event.CLOSE: State.CLOSED},
}


def after(state: State, event: Event) -> State:
    """The state that follows."""
    following = TRANSITIONS[state].get(event)
    assert following is not None, f"{event.name} cannot happen to a source that is {state.name}"
    return following
