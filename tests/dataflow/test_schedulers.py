"""Schedulers: who is charged for what, who goes next, and that nobody is asked for ever."""

from __future__ import annotations

import pytest

from nilometer.dataflow.schedulers import RoundRobin, Status, Tickets
from nilometer.errors import ConfigurationError


class Worker:
    """Works for a time, so many times; says when it did."""

    def __init__(self, name: str, seconds: float, turns: int, day: Day) -> None:
        self.name = name
        self.seconds = seconds
        self.left = turns
        self.day = day

    def step(self) -> Status:
        if not self.left:
            return Status.IDLE
        self.left -= 1
        self.day.now += self.seconds
        self.day.log.append(self.name)
        return Status.WORKED


class Day:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def __call__(self) -> float:
        return self.now


def test_round_robin_takes_each_in_turn() -> None:
    day = Day()
    RoundRobin().run([Worker("a", 1, 2, day), Worker("b", 5, 3, day)])
    assert day.log == ["a", "b", "a", "b", "b"]


def test_one_that_computes_long_waits_long() -> None:
    day = Day()
    long, short = Worker("long", 4.0, 50, day), Worker("short", 1.0, 200, day)
    scheduler = Tickets(clock=day)
    scheduler.run([long, short])
    early = day.log[:50]
    assert early.count("short") == pytest.approx(4 * early.count("long"), abs=4)
    assert (scheduler.used(long), scheduler.used(short)) == (200.0, 200.0)


def test_twice_the_tickets_is_twice_the_time() -> None:
    day = Day()
    much, little = Worker("much", 1.0, 300, day), Worker("little", 1.0, 300, day)
    Tickets(priorities={"much": 2}, clock=day).run([little, much])
    early = day.log[:90]
    assert early.count("much") == pytest.approx(60, abs=2)


def test_a_lottery_is_fair_in_time_and_repeats_with_its_seed() -> None:
    logs = []
    for _ in range(2):
        day = Day()
        workers = [Worker("long", 4.0, 1_000, day), Worker("short", 1.0, 4_000, day)]
        Tickets(lottery=True, seed=3, clock=day).run(workers)
        logs.append(day.log)
    assert logs[0] == logs[1]
    early = logs[0][:1_000]
    assert early.count("short") == pytest.approx(4 * early.count("long"), rel=0.25)


def test_one_that_was_idle_has_saved_nothing_up() -> None:
    day = Day()
    busy, idle = Worker("busy", 1.0, 100, day), Worker("idle", 1.0, 0, day)
    scheduler = Tickets(clock=day)
    scheduler.run([busy, idle])
    busy.left = idle.left = 20
    day.log.clear()
    scheduler.run([busy, idle])
    assert day.log[:20].count("busy") >= 9


def test_a_unit_without_a_ticket_would_never_run() -> None:
    with pytest.raises(ConfigurationError, match="ticket"):
        Tickets(priorities={"a": 0})
