"""Connections are bounded: by the source, by the descriptors of the process, by silence."""

from __future__ import annotations

import resource

import pytest

from nilometer.ingest.adapters.connections import LOGIN, PATIENCE, Connections, Slots, half_of_descriptors


class Kept(Connections[str]):
    """Connections whose names are their keys."""

    def come(self, name: str, now: float) -> bool:
        if not self.admit(now, self.end):
            return False
        self.add(hash(name), name, now)
        return True

    def say(self, name: str, now: float) -> None:
        self.spoke(hash(name), name, now)

    def end(self, name: str) -> None:
        self.drop(hash(name))

    @property
    def names(self) -> set[str]:
        return {name for held in (self._new, self._quiet) for name, _ in held.values()}


def test_half_of_the_descriptors() -> None:
    assert half_of_descriptors() == resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2


@pytest.mark.promise("idle-connections")
def test_silent_connections_make_room_and_sources_share_the_descriptors() -> None:
    slots = Slots(lambda: 3)
    one, other = Kept(10, 100.0, slots), Kept(10, 100.0, slots)
    assert all((one.come("a", 0), one.come("b", 1), other.come("c", 2)))
    one.say("a", 3)
    assert not other.crowded
    assert other.come("d", 4)  # c never said a line
    assert (other.names, other.displaced, other.crowded) == ({"d"}, 1, False)
    assert one.come("e", 5)  # for b
    one.say("e", 6)
    assert not one.come("f", 7)  # a and e have spoken a moment ago
    assert (one.names, one.refused) == ({"a", "e"}, 1)
    assert one.come("f", 3 + PATIENCE)  # a has been silent for long
    assert one.names == {"e", "f"}
    assert slots.taken == 3
    one.end("e")
    one.end("e")
    assert slots.taken == 2


def test_a_source_has_its_own_bound() -> None:
    few = Kept(1, 100.0, Slots(lambda: 99))
    assert all((few.come("a", 0), few.come("b", 0)))
    assert (few.names, few.bound, few.crowded) == ({"b"}, 1, True)


def test_silence_ends_a_connection() -> None:
    some = Kept(9, 100.0, Slots(lambda: 99))
    for name in "abc":
        assert some.come(name, 0)
    some.say("b", 50)
    some.sweep(LOGIN + 1, None, some.end)
    assert some.names == {"a", "b", "c"}  # nobody must say anything first
    some.sweep(LOGIN + 1, LOGIN, some.end)
    assert some.names == {"b"}
    some.sweep(150, LOGIN, some.end)
    assert some.names == {"b"}
    some.sweep(151, LOGIN, some.end)
    assert (some.names, some.idled, some._slots.taken) == (set(), 3, 0)
