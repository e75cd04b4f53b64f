"""The proxy: commands only in listening windows, the latest wish only, sleep when nobody asks, one answer to all."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.expressions import Aggregate
from nilometer.live.proxies import (
    Acknowledged,
    Command,
    Demand,
    Listening,
    QueryStarted,
    QueryStopped,
    Restarted,
    SensorProxy,
    Sleep,
    StartSampling,
    Summary,
    combine,
)
from nilometer.simulated.programs import cheapest
from nilometer.types import INT, MILLISECOND, SECOND

SLOW = Demand((10 * SECOND,), frozenset({"x"}))
FAST = Demand((SECOND,), frozenset({"x"}))


def test_a_sensor_is_told_only_while_it_listens() -> None:
    proxy = SensorProxy(7)
    assert proxy.handle(QueryStarted("q", SLOW), 0) == ()
    assert proxy.handle(QueryStarted("r", FAST), 1) == ()
    (command,) = proxy.handle(Listening(until=150), 100)
    assert isinstance(command, StartSampling)
    assert command.demand.interval == SECOND
    assert proxy.handle(Listening(until=150), 120) == ()  # said already
    assert proxy.handle(Acknowledged(command.number), 130) == ()
    assert proxy.settled
    assert proxy.handle(QueryStopped("r"), 160) == ()  # it does not listen any more
    (command,) = proxy.handle(Listening(until=250), 200)
    assert isinstance(command, StartSampling)
    assert command.demand.interval == 10 * SECOND
    (command,) = proxy.handle(QueryStopped("q"), 240)  # in the open window, at once
    assert isinstance(command, Sleep)
    assert proxy.handle(Acknowledged(command.number), 245) == ()
    assert proxy.asleep


def test_what_comes_and_goes_between_windows_is_not_sent() -> None:
    proxy = SensorProxy(7)
    proxy.handle(QueryStarted("q", SLOW), 0)
    (command,) = proxy.handle(Listening(10), 1)
    proxy.handle(Acknowledged(command.number), 2)
    proxy.handle(QueryStarted("r", FAST), 20)
    proxy.handle(QueryStopped("r"), 30)
    assert proxy.handle(Listening(50), 40) == ()


def test_an_unanswered_command_is_sent_again_in_the_next_window() -> None:
    proxy = SensorProxy(7)
    (first,) = proxy.handle(Listening(10), 1)
    assert isinstance(first, Sleep)
    (second,) = proxy.handle(Listening(30), 20)
    assert second.number == first.number + 1
    assert (
        proxy.handle(Acknowledged(first.number), 25) == ()
    )  # of an older command: says nothing about this one
    assert not proxy.settled
    proxy.handle(Acknowledged(second.number), 26)
    assert proxy.settled
    (third,) = proxy.handle(Restarted(), 27)  # it has forgotten, and it listens
    assert isinstance(third, Sleep)
    assert not proxy.settled


def test_a_query_that_does_not_want_this_sensor_lets_it_sleep() -> None:
    proxy = SensorProxy(7)
    proxy.handle(QueryStarted("q", Demand((SECOND,), frozenset(), sensors=frozenset({8}))), 0)
    (command,) = proxy.handle(Listening(10), 1)
    assert isinstance(command, Sleep)


def test_a_traffic_sensor_changes_its_program_with_the_queries() -> None:
    proxy = SensorProxy("loop 3", program_for=lambda demand: cheapest(demand).name)
    count = Summary(60 * SECOND, frozenset({Aggregate("count", None, False, INT)}))
    told = []
    for time, event in enumerate(
        [
            QueryStarted("counts", Demand((), frozenset(), aggregate=count)),
            QueryStarted("speeds", Demand((), frozenset({"speed"}))),
            QueryStarted("signal", Demand((5 * MILLISECOND,), frozenset({"reading"}))),
            QueryStopped("signal"),
            QueryStopped("speeds"),
            QueryStopped("counts"),
        ]
    ):
        proxy.handle(event, time * 100)
        (command,) = proxy.handle(Listening(time * 100 + 50), time * 100 + 10)
        proxy.handle(Acknowledged(command.number), time * 100 + 20)
        told.append(command.program if isinstance(command, StartSampling) else "sleep")
    assert told == ["counts", "vehicle times", "raw samples", "vehicle times", "counts", "sleep"]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.sampled_from("pqr"), st.integers(1, 4)),
        st.tuples(st.just("stop"), st.sampled_from("pqr"), st.just(0)),
        st.tuples(st.just("window"), st.just(""), st.integers(1, 5)),
        st.tuples(st.just("restart"), st.just(""), st.just(0)),
        st.tuples(st.just("wait"), st.just(""), st.integers(1, 5)),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(steps, st.lists(st.booleans(), min_size=5, max_size=5))
def test_in_the_end_the_sensor_does_what_the_queries_need(
    script: list[tuple[str, str, int]], losses: list[bool]
) -> None:
    proxy, time, open_until, sensor, told = SensorProxy(1), 0, -1, None, 0
    live: dict[str, Demand] = {}

    def deliver(commands: tuple[Command, ...]) -> Command | None:
        """The radio loses commands and answers; what arrives is obeyed."""
        nonlocal sensor, told
        for command in commands:
            assert time < open_until, "a command outside a listening window"
            told += 1
            if not losses[told % 5]:
                sensor = command
                if not losses[(told + 1) % 5]:
                    assert proxy.handle(Acknowledged(command.number), time) == ()
        return sensor

    for action, query, amount in script:
        time += 1
        if action == "start":
            live[query] = Demand((amount * SECOND,), frozenset({query}))
            deliver(proxy.handle(QueryStarted(query, live[query]), time))
        elif action == "stop":
            live.pop(query, None)
            deliver(proxy.handle(QueryStopped(query), time))
        elif action == "window":
            open_until = time + amount
            deliver(proxy.handle(Listening(open_until), time))
        elif action == "restart":
            sensor = None
            deliver(proxy.handle(Restarted(), time))
        else:
            time += amount
    losses = [False] * 5
    time += 100
    open_until = time + 10
    deliver(proxy.handle(Listening(open_until), time))
    assert proxy.settled
    wanted = combine(live.values())
    if wanted is None:
        assert isinstance(sensor, Sleep)
    else:
        assert isinstance(sensor, StartSampling)
        assert sensor.demand == Demand(
            wanted.intervals, wanted.columns, wanted.predicate, None, frozenset({1})
        )
    time += 1
    assert proxy.handle(Listening(time + 5), time) == ()
