"""The tables of states: complete, closed, and every state can be reached and left."""

from __future__ import annotations

import pytest

from nilometer.ingest.manager import disk, states
from nilometer.ingest.manager.disk import DiskEvent, DiskHealth, DiskState
from nilometer.ingest.manager.states import Event, SourceState, after


def reached(table: dict[object, dict[object, object]], begin: object) -> set[object]:
    found, new = set(), {begin}
    while new:
        found |= new
        new = {state for each in new for state in table[each].values()} - found
    return found


def test_every_state_of_a_source_is_reached_and_left() -> None:
    table = {state: dict(row) for state, row in states.TRANSITIONS.items()}
    assert set(table) == set(SourceState)
    for state in SourceState:
        assert reached(table, state) == set(SourceState), state  # type: ignore[arg-type]
        assert after(state, Event.CLOSE) is SourceState.CLOSED
    assert {event for row in table.values() for event in row} == set(Event)


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (SourceState.FAILED, Event.OPENED),
        (SourceState.ENDED, Event.END),
        (SourceState.FOLLOWING, Event.OPENED),
        (SourceState.OPEN, Event.LOG_BUSY),
    ],
)
def test_what_cannot_happen(state: SourceState, event: Event) -> None:
    with pytest.raises(AssertionError, match=f"{event.name} cannot happen"):
        after(state, event)


def test_every_state_of_a_disk_is_reached_and_left() -> None:
    table = {state: dict(row) for state, row in disk.TRANSITIONS.items()}
    assert set(table) == set(DiskState)
    for state in DiskState:
        assert reached(table, state) == set(DiskState), state  # type: ignore[arg-type]


def test_a_disk_has_trouble_unless_it_is_ready() -> None:
    full = DiskHealth().refused(DiskEvent.APPEND_REFUSED, "no space", 5)
    assert (full.state, full.trouble, full.retry_at) == (DiskState.FULL, "no space", 5)
    assert full.done(DiskEvent.FLUSHED) == full, (
        "what was appended is durable; there is still no room for more"
    )
    stuck = full.refused(DiskEvent.FLUSH_REFUSED, "no sync", 9)
    assert (stuck.state, stuck.trouble) == (DiskState.STUCK, "no sync")
    assert stuck.done(DiskEvent.FLUSHED) == DiskHealth(retry_at=9)
    assert full.done(DiskEvent.APPENDED) == DiskHealth(retry_at=5)
    with pytest.raises(AssertionError, match="APPENDED cannot happen to a disk that is STUCK"):
        stuck.done(DiskEvent.APPENDED)
