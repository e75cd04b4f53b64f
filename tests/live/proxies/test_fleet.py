"""The fleet: as if every sensor had its own proxy, told once for all; every change on record once; promises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.catalog import Sensor
from nilometer.catalog.extents import Stream
from nilometer.ingest.adapters.adapter import Aggregation, Changes, Command, Presence, ReadResult, Status
from nilometer.live.proxies import (
    Acknowledged,
    Demand,
    Event,
    Fleet,
    Listening,
    QueryStarted,
    QueryStopped,
    Restarted,
    SensorProxy,
    StartSampling,
    demand_of,
    filter_text,
)
from nilometer.live.proxies.fleet import MOST
from nilometer.types import SECOND

SCHEMA = """
CREATE STREAM s (x INT, v FLOAT) SENSED EVERY 1 SECOND;
CREATE SENSOR 1 OF s WITH zone = 'a'; CREATE SENSOR 2 OF s WITH zone = 'b'; CREATE SENSOR 3 OF s WITH zone = 'b';
CREATE STREAM p (x INT) PUSHED FROM 'mqtt://host/topic' DELAY 2 SECONDS;
"""
QUERIES = {
    "high": "SELECT time, id, x FROM s WHERE x > 5",
    "higher": "SELECT id, v FROM s WHERE x > 8",
    "one": "SELECT x FROM s WHERE id = 1 AND x < 3",
    "zone": "SELECT x FROM s WHERE zone = 'b'",
    "slow": "SELECT x, v FROM s SAMPLE EVERY 10 SECONDS",
    "all": "SELECT COUNT(*) AS n FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    "everything": "SELECT x, v FROM s",
    "count": "SELECT COUNT(*) AS n FROM s [RANGE 4 SECONDS] WHERE x > 8",
}
DATABASE = nilometer.connect()
DATABASE.execute(SCHEMA)
PLANS = {name: DATABASE.sql(text).physical for name, text in QUERIES.items()}


class Station:
    """What a fleet stands in: sensors, a radio and a clock."""

    def __init__(
        self, *, mailbox: bool = False, deaf: Iterable[int] = (), sensors: int | None = None
    ) -> None:
        self.now = 1_000
        self.said: list[tuple[int | str, Command]] = []
        self.changes: list[tuple[str, dict[str, Any]]] = []
        self.deaf = set(deaf)
        self.count = sensors
        self.fleet = Fleet(
            self.sensors, self.command, lambda: self.now, self.record, mailbox=lambda _: mailbox
        )

    def sensors(self, stream: Stream) -> Iterable[Sensor]:
        if self.count is not None:
            return [Sensor(number, stream.name) for number in range(self.count)]
        return DATABASE.catalog.sensors(stream.name)

    def command(self, stream: str, sensor: int | str, command: Command) -> bool:
        assert stream == "s"
        self.said.append((sensor, command))
        return sensor not in self.deaf

    def record(self, stream: str, change: dict[str, Any]) -> None:
        self.changes.append((stream, change))

    def take(self) -> dict[int | str, Command]:
        said, self.said = self.said, []
        assert len(dict(said)) == len(said), "told twice"
        return dict(said)

    def presence(self, *presences: Presence, rows: list[tuple[int, int]] = []) -> None:  # noqa: B006
        frame = pl.DataFrame(
            {"time": [t for t, _ in rows], "id": [i for _, i in rows], "x": 1, "v": 1.0},
            schema={"time": pl.Int64, "id": pl.Int64, "x": pl.Int64, "v": pl.Float64},
        )
        self.fleet.heard("s", ReadResult(Status.NEW_VALUE, frame, presences=presences))

    def obey(self) -> None:
        """All that were told something say that they obey."""
        self.presence(*(Presence(s, True, self.now, command=c.number) for s, c in self.take().items()))


def test_a_mailbox_is_filled_at_once_and_sensors_that_nobody_asks_sleep() -> None:
    station = Station(mailbox=True)
    station.fleet.start("one", PLANS["one"])
    said = station.take()
    assert said[1] == Command(SECOND, "x < 3", None, False, said[1].number, 10 * SECOND)
    assert said[2].sleep
    assert said[3].sleep
    assert station.fleet.states() == {"told": 3}
    station.presence(*(Presence(str(s), True, 5, command=c.number) for s, c in said.items()))
    assert station.fleet.states() == {"running": 1, "asleep": 2}
    assert station.fleet.settled("one")
    station.fleet.start("high", PLANS["high"])
    assert {s: c.filter for s, c in station.take().items()} == {1: "x < 3 OR x > 5", 2: "x > 5", 3: "x > 5"}
    station.fleet.stop("one")
    assert {s: c.filter for s, c in station.take().items()} == {1: "x > 5"}
    station.fleet.stop("high")
    assert all(c.sleep for c in station.take().values())
    assert station.fleet.demand("s") is None


def test_a_radio_is_spoken_to_only_while_it_listens() -> None:
    station = Station()
    station.fleet.start("high", PLANS["high"])
    assert not station.take()
    assert station.fleet.states() == {"waiting": 3}
    station.presence(Presence(2, True, 1_000, listening=1_050))
    (first,) = station.take().values()
    station.now = 1_020
    station.presence(Presence(2, True, 1_020, listening=1_050))
    assert not station.take()
    station.now = 2_000  # it was lost on the way: the next window
    station.presence(Presence(2, True, 2_000, listening=2_050))
    (second,) = station.take().values()
    assert second.number is not None
    assert first.number is not None
    assert second.number > first.number
    station.presence(Presence(2, True, 2_000, command=second.number))
    assert station.fleet.states() == {"waiting": 2, "running": 1}


def test_a_query_that_changes_nothing_still_gets_its_first_readings() -> None:
    station = Station(mailbox=True)
    station.fleet.start("high", PLANS["high"])
    station.obey()
    station.fleet.start(
        "higher", PLANS["higher"]
    )  # x > 8 is among x > 5, and a filter needs no first reading
    assert not station.take()
    station.fleet.start("count", PLANS["count"])  # its windows begin with a first reading
    assert {s: c.filter for s, c in station.take().items()} == {1: "x > 5", 2: "x > 5", 3: "x > 5"}
    station = Station(mailbox=True)
    station.fleet.start("everything", PLANS["everything"])
    station.obey()
    station.fleet.start("high", PLANS["high"])  # all is sent anyway, the columns travel with it
    assert not station.take()


def test_changes_are_on_record_once() -> None:
    station = Station(mailbox=True)
    for query in ("high", "zone", "high"):
        station.fleet.start(query, PLANS[query])
    station.fleet.start("again", PLANS["high"])  # asks for what is asked for
    station.fleet.stop("high")
    station.fleet.stop("high")
    station.fleet.stop("zone")
    station.fleet.stop("again")
    assert [(stream, c["query"], c["event"], c["demand"]) for stream, c in station.changes] == [
        ("s", "high", "start", "id, time, x; WHERE x > 5; EVERY 1 SECOND"),
        ("s", "zone", "start", "id, time, x; EVERY 1 SECOND"),
        ("s", "zone", "stop", "id, time, x; WHERE x > 5; EVERY 1 SECOND"),
        ("s", "again", "stop", None),
    ]
    assert station.changes[0][1]["filter"] == "x > 5"
    assert station.changes[-1][1]["queries"] == []


def test_a_query_may_change_its_plan_and_its_streams() -> None:
    station = Station(mailbox=True)
    station.fleet.start("q", PLANS["high"])
    station.fleet.start("q", PLANS["slow"])
    assert [str(c["demand"]) for _, c in station.changes] == [
        "id, time, x; WHERE x > 5; EVERY 1 SECOND",
        "v, x; EVERY 10 SECONDS",
    ]
    station.fleet.start("q", DATABASE.sql("SELECT x FROM p").physical)
    assert station.fleet.demand("s") is None
    assert station.fleet.demand("p") is not None


def test_sensors_that_take_no_commands_are_left_alone() -> None:
    station = Station(mailbox=True, deaf={2})
    station.fleet.start("high", PLANS["high"])
    assert set(station.take()) == {1, 2, 3}
    station.fleet.start("slow", PLANS["slow"])
    assert set(station.take()) == {1, 3}
    assert station.fleet.states() == {"told": 2, "uncontrolled": 1}


def test_a_sensor_that_could_not_be_told_is_tried_again_when_it_is_heard() -> None:
    station = Station(mailbox=True, deaf={2})
    station.fleet.start("high", PLANS["high"])
    station.take()
    for _ in range(5):
        station.now += SECOND
        station.presence(rows=[(station.now, 2)])
    said = [sensor for sensor, _ in station.said]
    assert said == [2, 2, 2], "three chances, and then it is left alone"
    other = Station(mailbox=True, deaf={2})
    other.fleet.start("high", PLANS["high"])
    other.take()
    other.deaf.clear()  # its topic is known now
    other.now += SECOND
    other.presence(rows=[(other.now, 2), (other.now, 1)])
    assert {sensor: command.filter for sensor, command in other.take().items()} == {2: "x > 5"}
    assert other.fleet.states() == {"told": 3}


def test_one_that_never_answers_is_left_alone_until_it_speaks() -> None:
    station = Station(mailbox=True)
    station.fleet.start("high", PLANS["high"])
    for _ in range(50):
        station.now += 3_600 * SECOND
        station.fleet.tick(station.now)
    assert [sensor for sensor, _ in station.said].count(1) == 4, "once, and three times again"
    assert station.fleet.states() == {"uncontrolled": 3}
    station.said.clear()
    station.presence(Presence("1", True, station.now, command=0))
    station.fleet.tick(station.now + 3_600 * SECOND)
    assert {sensor for sensor, _ in station.said} == {1}


def test_a_clock_that_runs_ahead_promises_nothing() -> None:
    station = Station(mailbox=True)
    station.fleet.start("one", PLANS["one"])
    station.obey()
    year = 365 * 24 * 3_600 * SECOND
    frame = pl.DataFrame({"time": [station.now, year], "id": [1, 1], "x": 1, "v": 1.0})
    status = Presence("1", True, station.now, time=year)
    station.fleet.heard("s", ReadResult(Status.NEW_VALUE, frame, presences=(status,), arrived=station.now))
    promised = station.fleet.promise("s")
    assert promised is not None
    assert promised <= station.now


def test_sensors_that_nobody_declared() -> None:
    station = Station(mailbox=True)
    station.fleet.start("high", PLANS["high"])
    station.obey()
    station.presence(rows=[(5 * SECOND, 9), (6 * SECOND, 1)])
    assert not station.take()  # a reading does not ask for a command
    station.presence(Presence("9", True, 5))
    assert {s: c.filter for s, c in station.take().items()} == {9: "x > 5"}
    station.presence(Presence("hub", True, 5), Presence("12", True, 5), Presence("13", False, 5))
    assert set(station.take()) == {12}
    station.fleet.stop("high")
    station.take()
    station.presence(Presence("14", True, 7))
    assert station.take()[14].sleep


@pytest.mark.promise("unknown-ids")
def test_100_000_ids_that_nobody_declared_get_no_command() -> None:
    station = Station(mailbox=True, sensors=2)
    station.fleet.start("high", PLANS["high"])
    station.obey()
    for first in range(1_000, 101_000, 5_000):
        station.presence(rows=[(5 * SECOND, identifier) for identifier in range(first, first + 5_000)])
    assert not station.take()
    members = station.fleet._members["s"]
    assert (len(members), len(members.strangers)) == (2, 100_000)
    # Those that announce themselves have a bound.
    station.presence(*(Presence(identifier, True, 5) for identifier in range(200_000, 200_000 + MOST + 10)))
    assert len(station.take()) == MOST
    assert len(members) == 2 + MOST


def test_a_promise_does_not_overtake_those_that_nobody_declared() -> None:
    station = Station(mailbox=True, sensors=1)
    station.fleet.start("high", PLANS["high"])
    station.obey()
    station.presence(rows=[(10 * SECOND, 77), (10 * SECOND, 0)])
    status = Presence(0, True, station.now, time=60 * SECOND)
    station.presence(status)
    promised = station.fleet.promise("s")
    assert promised is not None
    assert promised <= 10 * SECOND


def test_what_is_not_answered_is_said_again_with_growing_waits() -> None:
    station = Station(mailbox=True, sensors=1)
    station.fleet.start("high", PLANS["high"])
    asked = []
    for second in range(400):
        station.now = 1_000 + second * SECOND
        station.fleet.tick(station.now)
        if station.take():
            asked.append(second)
    assert asked == [0, 30, 90, 210]
    station.fleet.start("slow", PLANS["slow"])
    station.obey()
    station.now += 10_000 * SECOND
    station.fleet.tick(station.now)
    assert not station.take()
    station.presence(Presence(0, True, station.now, command=0))  # it has restarted
    assert station.take()


def test_promises() -> None:
    station = Station(mailbox=True)
    fleet = station.fleet
    assert fleet.promise("s") is None
    fleet.start("high", PLANS["high"])
    station.obey()
    assert fleet.promise("s") is None  # nobody has said anything
    station.presence(Presence(1, True, 5, time=7_500_000), rows=[(8 * SECOND, 2)])
    assert fleet.promise("s") is None  # the third has not
    station.presence(Presence(3, True, 5, time=9 * SECOND))
    assert fleet.promise("s") == 7 * SECOND
    station.presence(Presence(1, False, 5))
    assert fleet.promise("s") == 8 * SECOND
    station.now += 29 * SECOND
    station.presence(Presence(3, True, 5, time=30 * SECOND))
    station.now += 2 * SECOND  # the second sensor has not been heard for half a minute: it holds up nobody
    assert fleet.promise("s") == 30 * SECOND
    station.presence(rows=[(12 * SECOND, 2)])
    assert fleet.promise("s") == 12 * SECOND
    shown = fleet.rows()
    assert shown["state"].to_list() == ["gone", "running", "running"]
    assert shown["filter"].to_list() == ["x > 5"] * 3


def test_between_two_rare_samples_time_goes_on() -> None:
    station = Station(mailbox=True)
    stream = DATABASE.catalog.stream("s")

    def hears(second: int, *sensors: int) -> int | None:
        station.now = second * SECOND
        station.presence(rows=[(second * SECOND, sensor) for sensor in sensors])
        promised = station.fleet.promise("s")
        return None if promised is None else promised // SECOND

    station.fleet.steer("smoke", stream, [RARELY])
    station.obey()
    assert hears(10, 1, 2, 3) == 10
    assert [hears(second) for second in (11, 14, 19)] == [11, 14, 19], "nobody samples before 20"
    assert [hears(second) for second in (20, 21)] == [20, 20], "all are due"
    assert hears(22, 1) == 20
    station.now = 20 * SECOND
    station.presence(rows=[(20 * SECOND, sensor) for sensor in (2, 3)])
    station.fleet.steer("smoke", stream, [RARELY, replace(OFTEN, sensors=frozenset({2}))])
    assert hears(23) == 20, "the second sensor may get its command, and sample, at any moment"
    station.obey()
    assert hears(24) == 20, "its first reading may be under way"
    assert hears(24, 2) == 24
    assert hears(25) == 25
    assert hears(26) == 26
    assert hears(27) == 26, "it is due at 26"


def test_what_many_sensors_are_asked_is_worked_out_once() -> None:
    station = Station(mailbox=True, sensors=500)
    chosen: list[tuple[Demand, ...]] = []

    def program_for(_: Stream, demands: tuple[Demand, ...]) -> str:
        chosen.append(demands)
        return "counts"

    fleet = Fleet(
        station.sensors,
        station.command,
        lambda: 0,
        station.record,
        mailbox=lambda _: True,
        program_for=program_for,
    )
    fleet.start("high", PLANS["high"])
    fleet.start("one", PLANS["one"])
    assert len(chosen) == 2  # the second query changes what sensor 1 is asked
    assert {c.program for c in dict(station.said).values()} == {"counts"}


# ---- the twin --------------------------------------------------------------------------------------------------------

names = st.sampled_from(sorted(QUERIES))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("start"), names, st.just(0)),
        st.tuples(st.just("stop"), names, st.just(0)),
        st.tuples(st.just("listen"), st.integers(1, 3), st.integers(1, 4)),
        st.tuples(st.just("obey"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("restart"), st.integers(1, 3), st.just(0)),
    ),
    max_size=30,
)


@pytest.mark.parametrize("mailbox", [False, True])
@settings(max_examples=60)
@given(steps)
def test_a_fleet_is_a_proxy_for_each_sensor(mailbox: bool, script: list[tuple[str, Any, int]]) -> None:
    station = Station(mailbox=mailbox)
    station.fleet.start("high", PLANS["high"])
    twins = {n: SensorProxy(n, mailbox=mailbox, interval=SECOND, commanded=1) for n in (1, 2, 3)}
    heard: dict[int, int] = {}

    def twin(events: Iterable[tuple[int, Event]]) -> dict[int | str, Command]:
        said: dict[int | str, Command] = {}
        for number, event in events:
            for command in twins[number].handle(event, station.now):
                if isinstance(command, StartSampling):
                    demand, summary = command.demand, command.demand.summary
                    told = Command(
                        demand.interval or 0,
                        filter_text(demand.predicate),
                        None,
                        False,
                        command.number,
                        max(command.heartbeat, 0 if summary is None else summary.every),
                        intervals=demand.intervals if len(demand.intervals) > 1 else None,
                        aggregate=None
                        if summary is None
                        else Aggregation(summary.every, summary.of, summary.columns or (), summary.grid),
                    )
                else:
                    told = Command(sleep=True, number=command.number, listen=command.listen_every)
                said[number] = told
        return said

    def queries(query: str) -> list[tuple[int, Event]]:
        demand = replace(demand_of(PLANS[query])["s"], columns=frozenset(), heartbeat=0)
        found: list[tuple[int, Event]] = []
        for number in twins:
            asked = demand.sensors is None or number in demand.sensors
            asked = asked and (query != "one" or number == 1)
            found.append((number, QueryStarted(query, demand) if asked else QueryStopped(query)))
        return found

    expected = twin(queries("high"))
    assert station.take() == expected
    told = dict(expected)
    for action, who, amount in script:
        station.now += 1
        if action == "start":
            expected = twin(queries(who))
            station.fleet.start(who, PLANS[who])
        elif action == "stop":
            expected = twin([(number, QueryStopped(who)) for number in twins if who in twins[number].queries])
            station.fleet.stop(who)
        elif action == "listen":
            expected = twin([(who, Listening(station.now + amount))])
            station.presence(Presence(who, True, station.now, listening=station.now + amount))
        elif action == "obey" and who in told:
            heard[who] = told[who].number or 0
            expected = twin([(who, Acknowledged(heard[who]))])
            station.presence(Presence(str(who), True, station.now, command=heard[who]))
        elif action == "restart":
            expected = twin([(who, Restarted())] if twins[who].acknowledged is not None else [])
            station.presence(Presence(who, True, station.now, command=0))
        else:
            continue
        said = station.take()
        assert said == expected, (action, who)
        told |= said
        for number, proxy in enumerate(station.fleet._members["s"].proxies, 1):
            assert proxy.settled == twins[number].settled


def test_two_hundred_filters_tell_each_of_a_thousand_sensors_what_changes_and_no_more() -> None:
    """Installed one by one, a filter that changes nothing is not sent; installed together, all of them are one command."""
    plans = [
        DATABASE.sql(f"SELECT x FROM s WHERE x > {100 + n} AND x < {1000 - n}").physical for n in range(200)
    ]
    one_by_one = Station(mailbox=True, sensors=1_000)
    for number, plan in enumerate(plans):
        one_by_one.fleet.start(str(number), plan)
        if number == 0:
            assert len(one_by_one.said) == 1_000
            one_by_one.obey()
    assert not one_by_one.said
    for number in range(199, 0, -1):
        one_by_one.fleet.stop(str(number))
    assert not one_by_one.said
    together = Station(mailbox=True, sensors=1_000)
    with together.fleet.together():
        for number, plan in enumerate(reversed(plans)):
            together.fleet.start(str(number), plan)
    assert {command.filter for command in together.take().values()} == {"x > 100 AND x < 1000"}
    with together.fleet.together():
        for number in range(200):
            together.fleet.stop(str(number))
    assert all(command.sleep for command in together.take().values())


def test_a_sensor_with_an_empty_battery_says_less_often_that_time_goes_on() -> None:
    station = Station(mailbox=True)
    station.fleet.start("high", PLANS["high"])
    usual = station.take()[1].heartbeat
    assert usual is not None
    station.presence(Presence(1, True, station.now, command=1, battery=0.9))
    station.presence(Presence(1, True, station.now, command=1, battery=0.15))
    assert {s: c.heartbeat for s, c in station.take().items()} == {1: 10 * usual}
    station.fleet.start("higher", PLANS["everything"])
    said = station.take()
    assert said[1].heartbeat == 10 * usual
    assert said[2].heartbeat == usual
    assert (said[1].filter, said[1].interval) == (said[2].filter, said[2].interval)


def test_what_a_sensor_is_told_about_summaries_and_changes() -> None:
    station = Station(mailbox=True)
    station.fleet.start("all", PLANS["all"])
    told = station.take()[1]
    assert told.aggregate == Aggregation(2 * SECOND, told.aggregate.of if told.aggregate else "", (), SECOND)
    assert Command.from_json(told.as_json()) == told
    station.fleet.stop("all")
    station.fleet.start(
        "who", DATABASE.sql("SELECT MAX(id) AS m FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS]").physical
    )
    told = list(station.said)[-1][1]
    assert told.aggregate is None
    assert told.changes == Changes(4 * SECOND, ("id",), SECOND)
    assert Command.from_json(told.as_json()) == told


# ---- askers with several demands -------------------------------------------------------------------------------------

RARELY = Demand((10 * SECOND,), frozenset({"x"}), heartbeat=10 * SECOND, begins=False)
OFTEN = Demand((2 * SECOND,), frozenset({"x"}), heartbeat=2 * SECOND, begins=False)


def test_an_asker_may_want_different_things_of_different_sensors() -> None:
    station = Station(mailbox=True)
    stream = DATABASE.catalog.stream("s")
    station.fleet.steer("smoke", stream, [RARELY])
    assert {s: c.interval for s, c in station.take().items()} == dict.fromkeys((1, 2, 3), 10 * SECOND)
    near = replace(OFTEN, sensors=frozenset({2}))
    station.fleet.steer("smoke", stream, [RARELY, near])
    assert {s: c.interval for s, c in station.take().items()} == {2: 2 * SECOND}, "others hear nothing"
    station.fleet.steer("smoke", stream, [RARELY, near])
    assert not station.take()
    station.fleet.steer("smoke", stream, [RARELY, replace(OFTEN, sensors=frozenset({3}))])
    assert {s: c.interval for s, c in station.take().items()} == {2: 10 * SECOND, 3: 2 * SECOND}
    assert [change["event"] for _, change in station.changes] == ["steer"] * 3
    assert station.changes[-1][1]["demands"] == ["x; EVERY 10 SECONDS", "x; EVERY 2 SECONDS; FROM {3}"]
    station.fleet.steer("smoke", stream, [])
    assert all(command.sleep for command in station.take().values())
    assert station.changes[-1][1]["event"] == "stop"


def test_guidance_slows_nobody_whom_a_query_wants_fast() -> None:
    station = Station(mailbox=True)
    stream = DATABASE.catalog.stream("s")
    station.fleet.start("everything", PLANS["everything"])
    station.obey()
    station.fleet.steer("smoke", stream, [RARELY])
    assert not station.take(), "a second is a part of ten"
    station.fleet.stop("everything")
    assert {c.interval for c in station.take().values()} == {10 * SECOND}
