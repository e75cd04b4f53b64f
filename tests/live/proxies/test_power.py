"""Table 1 and the three programs: the figures that the paper prints, and what follows from vehicle times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.errors import UnsupportedError
from nilometer.expressions import Aggregate, Call, ColumnReference, Literal
from nilometer.live.proxies import Demand, Summary
from nilometer.simulated.power import TABLE_1, draw
from nilometer.simulated.programs import (
    COUNTS,
    MILE_PER_HOUR,
    PROGRAMS,
    RAW_SAMPLES,
    VEHICLE_TIMES,
    cheapest,
    length,
    sample_rate,
    speed,
)
from nilometer.types import BOOLEAN, FLOAT, INT, SECOND

DAY = 86_400


def two_digits(value: float) -> float:
    return float(f"{value:.2g}")


def halves(value: float) -> float:
    return round(value * 2) / 2


def test_the_paper_s_figures_at_180_hz() -> None:
    raw, times, counts = (program.power() for program in (RAW_SAMPLES, VEHICLE_TIMES, COUNTS))
    assert two_digits(raw.total * 1e3) == 13
    assert two_digits(times.total * 1e3) == 1.1
    assert two_digits(counts.total * 1e3) == 0.38
    assert halves(TABLE_1.lifetime(raw.total) / DAY) == 1.5  # "about a day and a half"
    assert halves(TABLE_1.lifetime(times.total) / (7 * DAY)) == 2.5  # "two and a half weeks"
    assert two_digits(TABLE_1.current(13e-3) * 1e3) == 2.6
    assert two_digits(TABLE_1.current(1.1e-3) * 1e3) == 0.22


def test_the_shape_of_figure_11() -> None:
    raw = RAW_SAMPLES.power()
    assert raw.transmit > 0.95 * raw.total  # "dominated by communication costs"
    assert VEHICLE_TIMES.power().total / COUNTS.power().total == pytest.approx(
        3, rel=0.05
    )  # "a threefold reduction"
    assert RAW_SAMPLES.cycles < VEHICLE_TIMES.cycles < COUNTS.cycles
    fast = VEHICLE_TIMES.power(
        samples=2_000
    )  # "for higher sample rates dominated by the processor and A-to-D"
    assert fast.processor + fast.converter > 2 * fast.transmit
    for program in PROGRAMS:
        totals = [program.power(rate).total for rate in (10, 60, 180, 500, 1_000)]
        assert totals == sorted(totals)
    for rate in (20, 180, 1_000):
        assert RAW_SAMPLES.power(rate).total > VEHICLE_TIMES.power(rate).total > COUNTS.power(rate).total


def test_a_processor_has_only_so_much_time() -> None:
    with pytest.raises(ValueError, match="busy"):
        draw(TABLE_1, samples=10_000, cycles=100, bits=0)
    idle = draw(TABLE_1, samples=0, cycles=0, bits=0)
    assert idle.total == TABLE_1.processor_idle


def test_180_hz_is_one_foot_at_60_mph() -> None:
    fast = 60 * MILE_PER_HOUR
    assert fast == 88
    assert sample_rate(accuracy=1, speed=fast) == 176
    assert two_digits(sample_rate(accuracy=1, speed=fast)) == 180
    assert 0.5 / fast == pytest.approx(0.0056, abs=1e-4)  # "6 inches in .0056 seconds"
    assert fast / 1 == 88  # one foot between samples: enough for one time, not for the difference of two


def test_speed_and_length() -> None:
    d, feet_per_second, feet = 6.0, 88.0, 15.0
    t0 = 10.0
    t1, t2 = t0 + d / feet_per_second, t0 + feet / feet_per_second
    assert speed(t0, t1, distance=d) == pytest.approx(feet_per_second)
    assert length(t0, t1, t2, distance=d) == pytest.approx(feet)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(8, 60), st.floats(3, 40)), min_size=1, max_size=5),
    st.floats(0, 0.0057),
)
def test_times_sampled_at_that_rate_give_lengths_to_one_foot(
    vehicles: list[tuple[float, float]], phase: float
) -> None:
    fast, rate, position, edges = 88.0, 176.0, 5.0, []
    for feet, gap in vehicles:
        edges.append((position / fast, (position + feet) / fast))
        position += feet + gap
    times = np.arange(phase, position / fast + 0.1, 1 / rate)
    covered = np.zeros(len(times), dtype=np.bool_)
    for start, end in edges:
        covered |= (times >= start) & (times < end)
    changes = np.diff(covered.astype(np.int8), prepend=np.int8(0))
    starts, ends = times[changes == 1], times[changes == -1]
    assert len(starts) == len(vehicles)
    for (feet, _), begin, end in zip(vehicles, starts, ends, strict=True):
        assert abs((end - begin) * fast - feet) <= 1 + 1e-6


COUNT = Aggregate("count", None, False, INT)


def asked(*columns: str, **parts: object) -> Demand:
    interval = parts.pop("interval", None)
    return Demand(() if interval is None else (interval,), frozenset(columns), **parts)  # type: ignore[arg-type]


def test_the_cheapest_program_that_answers() -> None:
    fast = Call(">", (ColumnReference("speed", FLOAT), Literal(88.0, FLOAT)), BOOLEAN)
    per_minute = Summary(60 * SECOND, frozenset({COUNT}))
    assert cheapest(asked("reading", "vehicles")) is RAW_SAMPLES
    assert cheapest(asked("time", "id", "speed", "length")) is VEHICLE_TIMES
    assert cheapest(asked("vehicles", "id", interval=SECOND)) is COUNTS
    assert cheapest(asked("vehicles", interval=SECOND // 4)) is VEHICLE_TIMES
    assert cheapest(asked(aggregate=per_minute)) is COUNTS
    assert cheapest(asked(aggregate=Summary(SECOND // 2, frozenset({COUNT})))) is VEHICLE_TIMES
    assert cheapest(asked(predicate=fast, aggregate=per_minute)) is VEHICLE_TIMES
    assert cheapest(asked("time")) is RAW_SAMPLES  # of what, it does not say
    with pytest.raises(UnsupportedError, match="has no 'colour'"):
        cheapest(asked("colour"))
