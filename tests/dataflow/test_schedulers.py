"""The scheduler: who goes next, and that nobody is asked for ever."""

from __future__ import annotations

from nilometer.dataflow.schedulers import RoundRobin, Status


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
