"""Joins with bounded memory: each policy against a naive twin, the bound, the counts, and what a restart changes (nothing)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.algebra import ShedPolicy
from nilometer.errors import InternalError
from nilometer.expressions import ColumnReference
from nilometer.kernels.age_curve import AgeCurve
from nilometer.kernels.join_completeness import completeness
from nilometer.operators import frames
from nilometer.operators.logic import Progress
from nilometer.operators.shedding import shedding
from nilometer.operators.shedding.shedding import Shedding
from nilometer.operators.shedding.worth import drawn
from nilometer.operators.window_join.window_join import KeyPair, WindowJoin
from nilometer.types import INT, INT_MINIMUM, STRING, Column, Schema
from operators.twins import Row, Script, counted, few, frozen, scripts

SCHEMAS = tuple(Schema((Column(f"{alias}.key", INT), Column(f"{alias}.kind", STRING))) for alias in "ABC")
BOUNDS = {2: ((0, 1, 6),), 3: ((0, 1, 4), (1, 2, 3))}
NAMES = ("key", "kind")

Keys = tuple[tuple[int, int, int], ...]
"""(port, other port, column)."""


def side(port: int, column: int) -> ColumnReference:
    found = SCHEMAS[port].columns[column]
    return ColumnReference(found.name, found.type)


def spec_of(count: int, keys: Keys, bound: Shedding | None) -> WindowJoin:
    pairs: tuple[KeyPair, ...] = tuple(
        (left, side(left, column), right, side(right, column)) for left, right, column in keys
    )
    return WindowJoin(SCHEMAS[:count], BOUNDS[count], pairs, shedding=bound)


@dataclass(frozen=True)
class Numbered:
    """A tuple and its number in its stream."""

    row: Row
    arrival: int


@dataclass
class Twin:
    """The same join, tuple by tuple."""

    spec: WindowJoin
    keys: Keys
    held: list[list[Numbered]] = field(default_factory=list)
    shed: list[int] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    now: int = INT_MINIMUM

    def __post_init__(self) -> None:
        ports = range(len(self.spec.streams))
        self.held, self.shed, self.arrived = [[] for _ in ports], [0 for _ in ports], [0 for _ in ports]
        self.reach = [int(width) for width in self.spec.widths.max(axis=1)]
        self.counts: Counter[Any] = Counter()
        self.times: list[list[int]] = [[] for _ in ports]
        self.curves = [AgeCurve(reach) for reach in self.reach]

    @property
    def bound(self) -> Shedding:
        assert self.spec.shedding is not None
        return self.spec.shedding

    def advance(self, rows: tuple[Row, ...], watermark: int) -> None:
        came = []
        for port in range(len(self.held)):
            for row in (row for row in rows if row.port == port):
                came.append(Numbered(row, self.arrived[port]))
                self.arrived[port] += 1
        came.sort(key=lambda one: one.row.time)
        size = self.bound.slice_rows
        for start in range(0, len(came), size):
            rest = [one.row.time for one in came[start + size :]]
            self.slice(came[start : start + size], min([watermark, *rest]))
        self.expire(watermark)

    def slice(self, came: list[Numbered], reached: int) -> None:
        if self.bound.policy == "SAMPLE":
            came = [one for port in range(len(self.held)) for one in self.let_in(port, came)]
        self.now = max([self.now, *(one.row.time for one in came)])
        self.learn(came)
        came.sort(key=lambda one: one.row.time)
        worths = {
            (one.row.port, one.arrival): self.worth(one.row.port, one)
            for one in (*came, *(one for held in self.held for one in held))
        }
        for one in came:
            beside = [[one] if port == one.row.port else held for port, held in enumerate(self.held)]
            self.probe(beside)
            self.hold(one, worths, min(reached, one.row.time))
        self.expire(reached)

    def probe(self, beside: list[list[Numbered]]) -> None:
        for members in product(*beside):
            if self.joins(members):
                time = max(member.row.time for member in members)
                values = [value for member in members for value in member.row.values]
                self.results.append((time, time, None, None, *values))
                for port, member in enumerate(members):
                    if member.row.time < time:
                        self.curves[port].matched(np.array([time - member.row.time]))

    def hold(self, one: Numbered, worths: dict[tuple[int, int], float], reached: int) -> None:
        """A tuple comes to memory: if that is full, what has expired goes, and then the one that is worth least."""
        port = one.row.port
        held, most = self.held[port], self.bound.rows[port]
        held.append(one)
        if most is None or len(held) <= most:
            return
        held[:] = [other for other in held if other.row.time >= reached - self.reach[port]]
        if len(held) > most:
            least = min(held, key=lambda other: (worths[port, other.arrival], other.row.time, other.arrival))
            held.remove(least)
            self.shed[port] += 1

    def let_in(self, port: int, came: list[Numbered]) -> list[Numbered]:
        mine = [one for one in came if one.row.port == port]
        most = self.bound.rows[port]
        if most is None or not mine:
            return mine
        self.times[port] += [one.row.time for one in mine]
        self.now = max([self.now, *(one.row.time for one in mine)])
        # The windows here are so short that the slices of time are single moments.
        recent = sum(time >= self.now - self.reach[port] for time in self.times[port])
        stay = [one for one in mine if self.worth(port, one) >= 1 - most / max(recent, most)]
        self.shed[port] += len(mine) - len(stay)
        return stay

    def joins(self, members: tuple[Numbered, ...]) -> bool:
        near = all(
            abs(members[i].row.time - members[j].row.time) <= width for i, j, width in self.spec.bounds
        )
        return near and all(
            members[i].row.values[c] is not None and members[i].row.values[c] == members[j].row.values[c]
            for i, j, c in self.keys
        )

    def learn(self, came: list[Numbered]) -> None:
        if came:
            for port, held in enumerate(self.held):
                comers = sum(one.row.port != port for one in came)
                ages = np.array([self.now_of(came) - one.row.time for one in held], dtype=np.int64)
                if comers and held:
                    self.curves[port].exposed(ages, comers)
        for one in came:
            for other, columns in self.ties(one.row.port).items():
                value = tuple(one.row.values[column] for column in columns)
                if None not in value:
                    self.counts[one.row.port, other, value] += 1
                    self.counts[one.row.port, other] += 1

    @staticmethod
    def now_of(came: list[Numbered]) -> int:
        return max(one.row.time for one in came)

    def ties(self, port: int) -> dict[int, list[int]]:
        """Per stream that keys tie to it, the columns; through a third one too, if it is the same column."""
        found: dict[int, list[int]] = {}
        for column in dict.fromkeys(column for _, _, column in self.keys):
            linked = {port}
            for _ in self.held:
                for left, right, other in self.keys:
                    if other == column and linked & {left, right}:
                        linked |= {left, right}
            for other_port in sorted(linked - {port}):
                found.setdefault(other_port, []).append(column)
        return found

    def worth(self, port: int, one: Numbered) -> float:
        if self.bound.policy in ("RANDOM", "SAMPLE"):
            return float(drawn(self.bound.seed, port, np.array([one.arrival]))[0])
        if self.bound.policy == "AGE":
            return float(self.curves[port].worth(np.array([self.now - one.row.time]))[0])
        worth = 1.0
        for other, columns in sorted(self.ties(port).items()):
            value = tuple(one.row.values[column] for column in columns)
            total = self.counts[other, port]
            worth *= self.counts[other, port, value] / total if total and None not in value else 0.0
        if self.bound.policy == "LIFE":
            worth *= max(one.row.time + self.reach[port] - self.now, 0)
        return worth

    def expire(self, reached: int) -> None:
        self.held = [
            [one for one in held if one.row.time >= reached - reach]
            for held, reach in zip(self.held, self.reach, strict=True)
        ]


@st.composite
def joins(draw: st.DrawFn) -> tuple[Script, WindowJoin, Keys]:
    count = draw(st.integers(2, 3))
    ties = st.tuples(st.just(0), st.just(1), st.integers(0, 1))
    if count == 3:
        ties |= st.tuples(st.just(1), st.just(2), st.integers(0, 1))
    keys = tuple(draw(st.lists(ties, max_size=2, unique=True)))
    rows = tuple(draw(st.lists(st.none() | st.integers(1, 5), min_size=count, max_size=count).filter(any)))
    bound = Shedding(rows, draw(st.sampled_from(ShedPolicy)), draw(st.integers(0, 3)))
    return draw(scripts(*SCHEMAS[:count])), spec_of(count, keys, bound), keys


@given(joins(), st.integers(1, 5))
@few
def test_like_the_naive_twin_and_never_above_the_bound(
    join: tuple[Script, WindowJoin, Keys], slice_rows: int
) -> None:
    script, spec, keys = join
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shedding, "LEAST_SLICE", slice_rows)
        twin, logic = Twin(spec, keys), spec.build()
        given_: Counter[Any] = Counter()
        for batch, watermark in zip(script.batches, script.watermarks, strict=True):
            for port, schema in enumerate(spec.streams):
                rows = [(r.tick, r.time, r.id, r.position, *r.values) for r in batch if r.port == port]
                logic.update(port, pl.DataFrame(rows, schema=frames.stream_dtypes(schema), orient="row"))
            given_.update(frozen(row) for row in logic.advance(Progress(watermark)).rows.rows())
            twin.advance(batch, watermark)
            assert logic.heights == tuple(map(len, twin.held))
            assert logic.shed_by_port == tuple(twin.shed)
            panes = logic.snapshot()  # a restart after every round
            logic = spec.build()
            logic.restore(panes)
        assert given_ == counted(twin.results)
        for most, height in zip(twin.bound.rows, logic.heights, strict=True):
            assert most is None or height <= most


@given(scripts(*SCHEMAS[:2]), st.sampled_from(ShedPolicy), st.booleans())
@few
def test_with_memory_enough_nothing_is_shed_and_nothing_missing(
    script: Script, policy: ShedPolicy, hashed: bool
) -> None:
    bound = Shedding((100, 100), policy)
    exact = spec_of(2, ((0, 1, 0),) if hashed else (), None)
    assert script.play(replace(exact, shedding=bound)) == script.play(exact)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InternalError, match="room for a row"):
        Shedding((0, 5))
    with pytest.raises(InternalError, match="without a bound"):
        Shedding((None, None))
    with pytest.raises(InternalError, match="shedding by"):
        Shedding((1, 1), "GUESS")
    with pytest.raises(InternalError, match="3 bounds of memory for 2 streams"):
        spec_of(2, (), Shedding((1, 1, 1))).build()


# ---- memories of few rows --------------------------------------------------------------------------------------------

WINDOW, RATE, SECONDS = 50, 4, 2_000
FEW = (1, 5, 20, 100)


def arrivals() -> list[tuple[int, int, int]]:
    """(time, port, key), so many a moment of each of two streams, of ten keys."""
    generator = np.random.default_rng(5)
    return [
        (time, port, int(generator.integers(0, 10)))
        for time in range(SECONDS)
        for port in (0, 1)
        for _ in range(RATE // 2)
    ]


def found_by(policy: str, bound: int) -> tuple[Counter[Any], tuple[int, ...]]:
    join = WindowJoin(
        SCHEMAS[:2],
        ((0, 1, WINDOW),),
        ((0, side(0, 0), 1, side(1, 0)),),
        shedding=Shedding((bound, bound), policy),
    )
    logic = join.build()
    came = arrivals()
    results: Counter[Any] = Counter()
    for start in range(0, SECONDS, 100):
        for port in (0, 1):
            rows = [
                (time, time, 1, None, key, str(number))
                for number, (time, at, key) in enumerate(came)
                if at == port and start <= time < start + 100
            ]
            logic.update(port, pl.DataFrame(rows, schema=frames.stream_dtypes(SCHEMAS[port]), orient="row"))
        output = logic.advance(Progress(start + 100))
        results.update(zip(output.rows["A.kind"], output.rows["B.kind"], strict=True))
        assert max(logic.heights) <= bound
    return results, logic.shed_by_port


@pytest.mark.parametrize("bound", FEW)
def test_what_is_found_was_among_few_rows_when_it_was_probed(bound: int) -> None:
    memories: list[list[tuple[float, int, int, int, int]]] = [[], []]
    numbers = [0, 0]
    expected: Counter[Any] = Counter()
    for number, (time, port, key) in enumerate(arrivals()):
        memory = memories[1 - port]
        assert len(memory) <= bound
        for _, then, _, other_key, other in memory:
            if other_key == key and time - then <= WINDOW:
                expected[tuple(map(str, (number, other) if port == 0 else (other, number)))] += 1
        worth = float(drawn(0, port, np.array([numbers[port]]))[0])
        own = [one for one in memories[port] if one[1] >= time - WINDOW]
        memories[port] = sorted([*own, (worth, time, numbers[port], key, number)])[-bound:]
        numbers[port] += 1
    assert found_by("RANDOM", bound)[0] == expected


@pytest.mark.parametrize("bound", FEW)
def test_a_sample_of_few_rows_finds_what_explain_says(bound: int) -> None:
    came = arrivals()
    whole = sum(
        1
        for time, port, key in came
        if port == 0
        for then in range(max(0, time - WINDOW), min(SECONDS, time + WINDOW + 1))
        for _, other_port, other in came[RATE * then : RATE * (then + 1)]
        if other_port == 1 and other == key
    )
    expected = completeness([bound, bound], [WINDOW + 1] * 2, [RATE / 2] * 2)
    found = found_by("SAMPLE", bound)[0].total()
    # As few as 4,000 tuples of each stream are drawn from.
    assert found / whole <= expected * 1.15 + 10 / whole
    assert found / whole >= expected * 0.6 - 10 / whole
