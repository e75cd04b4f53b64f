"""The law of demand: a filter, rate or program pushed to sensors for one query never changes another's answer.

Two fields of the same world: one obeys a fleet while queries come and go, in the other sensors send all they see. Each query's
answer over what came from the one, from its start on, is its answer over what came from the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.dataflow import Batch, Entry, Heartbeat, MemorySources, Run, Summaries
from nilometer.dataflow.sources import summary_dtypes
from nilometer.ingest.adapters import Command, ReadResult, Status
from nilometer.ingest.readers import read_frame
from nilometer.live.proxies import Fleet, demand_of, for_sensor
from nilometer.plan.reference import same_answer
from nilometer.simulated.field import SimulatedField
from nilometer.simulated.fields.diurnal import Diurnal
from nilometer.simulated.fields.traffic_loop import TrafficLoop
from nilometer.simulated.grid import DiurnalGrid
from nilometer.simulated.physics import Physics
from nilometer.simulated.traffic import Road
from nilometer.types import HOUR, SECOND

WAITING = 2**62
"""The number of a command that waits for its sensor to listen."""

START = 1_767_225_600_000_000 + 8 * HOUR


@dataclass
class Live:
    """A query from its start: the two logs that it could see, and by which commands its sensors serve it (0: at once)."""

    name: str
    serving: dict[int, int]
    sent: list[Entry] = field(default_factory=list)
    full: list[Entry] = field(default_factory=list)


class World:
    """An obeying field with its fleet, and its twin that obeys nobody."""

    def __init__(
        self, physics: Physics, queries: list[str], *, sensed: bool, mailbox: bool = True, listen: int = 1
    ) -> None:
        self.obeying = SimulatedField(physics, start=START, mailbox=mailbox)
        self.free = SimulatedField(physics, start=START)
        self.database = nilometer.connect()
        self.stream = self.obeying.stream("s", "generate://diurnal", sensed=sensed)
        self.database.catalog.add_stream(self.stream)
        self.database.catalog.add_sensors(self.obeying.sensors_of("s"))
        self.plans = [self.database.sql(text).physical for text in queries]
        self.queries = queries
        self.live: dict[int, Live] = {}
        self.told: dict[int, int] = {}
        self.fleet = Fleet(
            lambda stream: self.database.catalog.sensors(stream.name),
            self.command,
            lambda: self.obeying.now,
            lambda *_: None,
            mailbox=lambda _: mailbox,
            program_for=lambda _, demands: self.obeying.program_for(demands),
            heartbeat=3 * SECOND,
            listen_every=listen,
        )

    def command(self, _: str, sensor: int | str, command: Command) -> bool:
        self.told[int(sensor)] = command.number or 0
        for query in self.live.values():
            if query.serving.get(int(sensor)) == WAITING:
                query.serving[int(sensor)] = command.number or 0
        return self.obeying.command(sensor, command)

    def start(self, number: int) -> None:
        """Until a sensor has read the command that a query's start sends it, it sends what it was told before: to both."""
        self.told.clear()
        self.fleet.start(str(number), self.plans[number])
        for proxy in self.fleet._members["s"].proxies:
            self.told.setdefault(int(proxy.sensor), 0 if proxy.settled else WAITING)
        asked = demand_of(self.plans[number])["s"]
        sensors = self.database.catalog.sensors("s")
        serving = {int(s.id): self.told[int(s.id)] for s in sensors if for_sensor(asked, s.id) is not None}
        self.live[number] = Live(self.queries[number], serving)

    def stop(self, number: int) -> None:
        self.check(number)
        del self.live[number]
        self.fleet.stop(str(number))

    def step(self) -> int:
        """One step of both; how many readings were saved."""
        rows, presences = self.obeying.advance(self.obeying.next_tick)
        everything, _ = self.free.advance(self.free.next_tick)
        assert rows.join(everything, on=["time", "id"], how="anti").is_empty(), "a reading out of nowhere"
        typed, full = (read_frame(frame, self.stream).rows for frame in (rows, everything))
        self.fleet.heard("s", ReadResult(Status.NEW_VALUE, typed, presences=presences))
        summaries = self.obeying.take_summaries()
        if summaries is not None:
            summaries = summaries.select(*summary_dtypes(self.stream))
            self.fleet.heard("s", ReadResult(Status.NEW_VALUE, typed.clear(), summaries=summaries))
        promise = self.fleet.promise("s")
        obeyed = dict(enumerate(self.obeying.sensors.number.tolist(), 1))
        for query in self.live.values():
            serving = [sensor for sensor, number in query.serving.items() if obeyed[sensor] >= number]
            others = typed.filter(~pl.col("id").is_in(serving))
            whole = pl.concat([full.filter(pl.col("id").is_in(serving)), others]).sort("time", "id")
            query.sent.append(Batch(typed))
            query.full.append(Batch(whole))
            if summaries is not None:
                query.sent.append(Summaries(summaries))
                query.full.append(Summaries(summaries.filter(~pl.col("id").is_in(serving))))
            if promise is not None:
                query.sent.append(Heartbeat(promise))
        return everything.height - rows.height - (0 if summaries is None else summaries.height)

    def check(self, number: int) -> None:
        """The query's answers so far are the same."""
        query = self.live[number]
        end = Heartbeat(self.obeying.now + self.obeying.physics.every)
        found = [self.answer(number, [*log, end]) for log in (query.sent, query.full)]
        assert same_answer(*found) is None, (query.name, *found)

    def answer(self, number: int, log: list[Entry]) -> list[tuple[Any, ...]]:
        sources = MemorySources({"s": log}, {}, {"s": self.database.catalog.sensors("s")})
        run = Run(self.plans[number], sources, finished=False)
        rows = run.collect().rows()
        assert run.summary.rows_late == 0
        return rows


def weather(sensors: int = 3, seed: int = 1) -> DiurnalGrid:
    return DiurnalGrid(Diurnal(sensor_count=sensors, start=START, interval=SECOND, seed=seed, noise=3.0))


QUERIES = [
    "SELECT time, id, temperature FROM s WHERE temperature > 14",
    "SELECT time, id, temperature FROM s WHERE temperature > 12 AND humidity < 60",
    "SELECT time, id FROM s WHERE id = 1 AND humidity > 70",
    "SELECT time, id, humidity FROM s SAMPLE EVERY 4 SECONDS",
    "SELECT time, id, humidity FROM s WHERE humidity > 60 SAMPLE EVERY 6 SECONDS",
    "SELECT time, id, humidity FROM (SELECT time, id, humidity FROM s WHERE humidity > 60) q SAMPLE EVERY 4 SECONDS",
    "SELECT COUNT(*) AS n, SUM(humidity) AS t FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE temperature > 13",
    "SELECT COUNT(*) AS n FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE temperature > 40",
    "SELECT COUNT(*) AS n FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS] WHERE temperature > 40 AND humidity > 10",
    "SELECT COUNT(*) AS n FROM s [RANGE 3 SECONDS] WHERE temperature > 13",
    "SELECT id, MAX(temperature) AS m FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS] GROUP BY id SAMPLE EVERY 2 SECONDS",
    "SELECT time, id, LAG(temperature) AS before FROM s WHERE temperature > 13",
    "ISTREAM SELECT id FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS] WHERE temperature > 15",
    "SELECT id, temperature FROM s [RANGE 5 ROWS SLIDE 2 ROWS] WHERE temperature > 13",
    "SELECT a.id, b.humidity FROM s [NOW] a, s [AT NOW - 2 SECONDS] b WHERE a.id = b.id AND a.temperature > 15",
    "SELECT COUNT(*) AS n, COMPLETENESS() AS c FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS] WHERE temperature > 13",
    "SELECT time, id, state FROM SILENT(s FOR 3 SECONDS)",
    "SELECT id, AVG(temperature) AS m, MIN(humidity) AS d FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY id",
    "SELECT AVG(temperature) AS m, MAX(temperature) AS t FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS]",
    "SELECT COUNT(*) AS n, SUM(temperature) AS t, COMPLETENESS() AS c FROM s [RANGE 6 SECONDS SLIDE 6 SECONDS]",
    "SELECT id, COUNT(humidity) AS n FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS] WHERE id < 3 AND temperature > 13 GROUP BY id",
]
SUMMARISED = range(len(QUERIES) - 4, len(QUERIES))
QUERIES += [
    "SELECT MAX(id) AS m FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS]",
    "SELECT id, COUNT(DISTINCT humidity) AS n FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY id",
    "SELECT MIN(temperature + 1.0) AS m FROM s [RANGE 6 SECONDS SLIDE 6 SECONDS] WHERE humidity > 60",
]
ON_CHANGE = range(len(QUERIES) - 3, len(QUERIES))


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Few queries come and go, so that those that need all readings do not hide what the others do."""
    chosen = draw(st.lists(st.integers(0, len(QUERIES) - 1), min_size=1, max_size=3, unique=True))
    return draw(st.lists(st.tuples(st.sampled_from(chosen), st.integers(1, 9)), min_size=1, max_size=9))


def play(world: World, script: list[tuple[int, int]]) -> int:
    """Each step starts the query or, if it is live, stops it, and lets some time pass."""
    saved = 0
    for number, ticks in script:
        if number in world.live:
            world.stop(number)
        else:
            world.start(number)
        saved += sum(world.step() for _ in range(ticks))
    for number in list(world.live):
        world.check(number)
    return saved


@pytest.mark.slow
@pytest.mark.parametrize("sensed", [True, False])
@pytest.mark.parametrize("mailbox", [True, False])
@settings(max_examples=25)
@given(script=scripts(), seed=st.integers(0, 50), listen=st.sampled_from([1, 4 * SECOND]))
def test_no_query_can_tell_which_others_run(
    sensed: bool, mailbox: bool, script: list[tuple[int, int]], seed: int, listen: int
) -> None:
    world = World(weather(seed=seed), QUERIES, sensed=sensed, mailbox=mailbox, listen=listen)
    if not mailbox:
        world.step()  # their first window
    play(world, script)


@pytest.mark.long
@settings(max_examples=500)
@given(
    script=scripts(),
    seed=st.integers(0, 10_000),
    listen=st.sampled_from([1, 2 * SECOND, 4 * SECOND]),
    sensed=st.booleans(),
    mailbox=st.booleans(),
)
def test_no_query_of_many_can_tell(
    script: list[tuple[int, int]], seed: int, listen: int, sensed: bool, mailbox: bool
) -> None:
    world = World(weather(seed=seed), QUERIES, sensed=sensed, mailbox=mailbox, listen=listen)
    world.step()
    play(world, script)


def test_readings_are_saved_and_each_query_has_its_first() -> None:
    """Where nothing passes the filters, a second query's windows still begin where they would without the first."""
    rare = [number for number, text in enumerate(QUERIES) if "> 40" in text]
    world = World(weather(), QUERIES, sensed=True)
    saved = play(world, [(rare[0], 20), (rare[1], 21)])
    # Two first readings of each of three sensors; an answer for each evaluation, though no reading passes.
    assert saved == 3 * 41 - 2 * 3
    assert len(world.answer(rare[1], [*world.live[rare[1]].sent, Heartbeat(world.obeying.now + 1)])) == 7


def test_a_rate_is_shared_and_a_sample_is_the_first_since_the_start() -> None:
    slow = next(number for number, text in enumerate(QUERIES) if "humidity FROM s SAMPLE" in text)
    world = World(weather(), [*QUERIES, QUERIES[slow]], sensed=True)
    saved = play(world, [(slow, 3), (len(QUERIES), 18), (slow, 9)])
    assert saved > 3 * 20


ROAD = [
    "SELECT SUM(vehicles) AS n FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    "SELECT id, SUM(vehicles) AS n FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS] GROUP BY id",
    "SELECT time, id, vehicles FROM s WHERE vehicles > 0",
    "SELECT time, id, speed, length FROM s WHERE speed > 20",
    "SELECT AVG(speed) AS mean, MAX(length) AS longest FROM s [RANGE 3 SECONDS SLIDE 3 SECONDS]",
    "SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS] WHERE reading < 100",
    "SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS]",
]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, len(ROAD) - 1), st.integers(1, 4)), min_size=1, max_size=6))
def test_no_query_can_tell_which_program_runs(script: list[tuple[int, int]]) -> None:
    world = World(Road(TrafficLoop(sensor_count=2, start=START, seed=3)), ROAD, sensed=False)
    play(world, script)


def test_programs_follow_the_queries() -> None:
    world = World(Road(TrafficLoop(sensor_count=2, start=START, seed=3)), ROAD, sensed=False)
    ran = []
    for number in (0, 3, 5, 5, 3):
        if number in world.live:
            world.stop(number)
        else:
            world.start(number)
        saved = sum(world.step() for _ in range(5))
        ran.append((world.obeying.sensors.level.tolist(), saved > 0))
    assert ran == [([0, 0], True), ([1, 1], True), ([2, 2], False), ([1, 1], True), ([0, 0], True)]
