"""Expected, missing and silent are what a count sensor by sensor says."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from nilometer.ingest.manager.attendance import SILENCES, Attendance

Step = tuple[str, int, list[int], dict[int, int | None]]
INTERVALS = st.one_of(st.none(), st.integers(1, 20))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("heard"), st.integers(0, 30), st.lists(st.integers(1, 4), max_size=5), st.just({})),
        st.tuples(
            st.just("expect"),
            st.integers(0, 30),
            st.just([]),
            st.dictionaries(st.integers(0, 4), INTERVALS, max_size=4),
        ),
    ),
    max_size=12,
)


class Naive:
    """The same, sensor by sensor. Sensor 0 of a step stands for those of whom nothing else is said."""

    def __init__(self, interval: int | None, now: int, declared: list[int]) -> None:
        self.interval, self.each, self.since = interval, {}, now
        self.first = dict.fromkeys(declared, now)
        self.last = dict.fromkeys(declared, now)
        self.count = dict.fromkeys(declared, 0)
        self.before: dict[int, int] = {}

    def of(self, sensor: int) -> int | None:
        return self.each.get(sensor, self.interval)

    def due(self, sensor: int, now: int) -> int:
        interval = self.of(sensor)
        added = 0 if interval is None else (now - max(self.first[sensor], self.since)) // interval
        return self.before.get(sensor, 0) + max(0, added)

    def heard(self, ids: list[int], now: int) -> None:
        for sensor in ids:
            self.first.setdefault(sensor, now)
            self.last[sensor] = now
            self.count[sensor] = self.count.get(sensor, 0) + 1

    def expect(self, interval: int | None, each: dict[int, int | None], now: int) -> None:
        if (interval, each) != (self.interval, self.each):
            self.before = {sensor: self.due(sensor, now) for sensor in self.first}
            self.interval, self.each, self.since = interval, each, now


@given(first=INTERVALS, declared=st.lists(st.integers(1, 3), unique=True), steps=STEPS)
def test_it_counts_as_the_naive_one(first: int | None, declared: list[int], steps: list[Step]) -> None:
    now = 100
    known = pl.Series("id", declared, dtype=pl.Int64)
    attendance, naive = Attendance(first, now, known), Naive(first, now, declared)
    for kind, wait, ids, intervals in steps:
        now += wait
        if kind == "heard":
            attendance.heard(pl.Series("id", ids, dtype=pl.Int64), now)
            naive.heard(ids, now)
        else:
            each = {sensor: interval for sensor, interval in intervals.items() if sensor}
            frame = pl.DataFrame(
                {"id": list(each), "interval": list(each.values())},
                schema={"id": pl.Int64, "interval": pl.Int64},
            )
            attendance.expect(intervals.get(0), now, frame)
            naive.expect(intervals.get(0), each, now)
        report = attendance.report(now)
        owed = {sensor: naive.due(sensor, now) for sensor in naive.first}
        assert report.sensors == len(naive.first)
        if report.expected is not None:
            assert report.expected == sum(owed.values())
            assert report.missing == sum(max(0, due - naive.count[s]) for s, due in owed.items())
        else:
            assert not any(owed.values())
        silent = [
            sensor
            for sensor in naive.first
            if (interval := naive.of(sensor)) is not None
            and now - max(naive.last[sensor], naive.since) > SILENCES * interval
        ]
        assert report.silent == tuple(sorted(silent))
