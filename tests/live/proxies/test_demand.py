"""Demand: what a plan needs, what several need together, and that nobody's filter changes another's answer."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.errors import NilometerError
from nilometer.expressions import Aggregate, Call, ColumnReference, Expression, InList, Literal
from nilometer.live.proxies import Demand, Summary, asks_for, combine, demand_of, for_sensor
from nilometer.live.proxies.demand import union
from nilometer.plan.reference import same_answer
from nilometer.plan.scalar import evaluate
from nilometer.types import BOOLEAN, FLOAT, INT, SECOND

SCHEMA = """
CREATE STREAM s (x INT, v FLOAT) SENSED EVERY 1 SECOND;
CREATE SENSOR 1 OF s WITH zone = 'a'; CREATE SENSOR 2 OF s WITH zone = 'b';
CREATE STREAM p (x INT) PUSHED FROM 'mqtt://host/topic';
"""


def demands(query: str) -> dict[str, Demand]:
    database = nilometer.connect()
    database.execute(SCHEMA)
    return demand_of(database.sql(query).physical)


PLANS = {
    "SELECT id, x FROM s WHERE x > 3": "id, x; WHERE x > 3; EVERY 1 SECOND",
    "SELECT v FROM s WHERE x > 3": "v, x; WHERE x > 3; EVERY 1 SECOND",
    "SELECT x FROM s SAMPLE EVERY 10 SECONDS": "x; EVERY 10 SECONDS",
    # the filter stands above SAMPLE and stays there
    "SELECT x FROM s WHERE x > 3 SAMPLE EVERY 10 SECONDS": "x; EVERY 10 SECONDS",
    # 2.5 s is no multiple of the stream's interval
    "SELECT x FROM s SAMPLE EVERY 2500 MILLISECONDS": "x; EVERY 1 SECOND",
    # a filter below SAMPLE needs the full rate: the first tuple that passes is the sample
    "SELECT x FROM (SELECT x FROM s WHERE x > 3) q SAMPLE EVERY 10 SECONDS": None,
    "SELECT x FROM s WHERE zone = 'a' AND x > 3": None,
    "SELECT AVG(v) AS m FROM s [RANGE 10 SECONDS SLIDE 4 SECONDS] WHERE x > 3": (
        "v, x; WHERE x > 3; EVERY 1 SECOND; AS AVG(v) PER 2 SECONDS"
    ),
    "SELECT zone, id, MAX(v + 1) AS m FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY zone, id": (
        "id, v; EVERY 1 SECOND; AS MAX(v + 1.0) PER 1 MINUTE"
    ),
    # SAMPLE takes the first reading of each interval, so it must see them all
    "SELECT COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] SAMPLE EVERY 10 SECONDS": (
        "(); EVERY 10 SECONDS"
    ),
    # readings of one sensor fall into different groups; the median has no partial result; one reading a pane
    "SELECT x, COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY x": "x; EVERY 1 SECOND",
    "SELECT MEDIAN(v) AS m FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]": "v; EVERY 1 SECOND",
    "SELECT AVG(v) AS m FROM s [NOW]": "v; EVERY 1 SECOND",
    "SELECT AVG(v) AS m FROM s [FROM NOW - 10 SECONDS TO NOW SLIDE 10 SECONDS]": "v; EVERY 1 SECOND",
    # both sides of a self-join
    "SELECT a.x, b.v FROM s [NOW] a, s [AT NOW - 10 SECONDS] b WHERE a.x > 3 AND b.x > 5": (
        "v, x; WHERE x > 3; EVERY 1 SECOND"
    ),
}


@pytest.mark.parametrize("query", [query for query, text in PLANS.items() if text is not None])
def test_what_a_plan_needs(query: str) -> None:
    assert str(demands(query)["s"]) == PLANS[query]


def test_a_filter_below_sample_keeps_the_rate() -> None:
    found = demands("SELECT x FROM (SELECT x FROM s WHERE x > 3) q SAMPLE EVERY 10 SECONDS")["s"]
    assert found.interval == SECOND or found.predicate is None  # never both a filter and a coarser rate


def test_a_condition_on_a_static_attribute_does_not_reach_the_sensor() -> None:
    found = demands("SELECT x FROM s WHERE zone = 'a' AND x > 3")["s"]
    assert "zone" not in str(found)
    assert found.columns <= {"x"}
    assert found.sensors in (None, frozenset({1}))
    assert found.aggregate is None


def test_every_stream_has_its_demand() -> None:
    found = demands(
        "SELECT s.x, p.x AS y FROM s [NOW], p [RANGE 5 SECONDS SLIDE 1 SECOND] WHERE s.x = p.x AND p.x > 2"
    )
    assert set(found) == {"s", "p"}
    assert found["p"].interval is None
    assert str(found["p"].predicate) == "x > 2"


# ---- combination -----------------------------------------------------------------------------------------------------

X, V = ColumnReference("x", INT), ColumnReference("v", FLOAT)


def compare(way: str, column: Expression, value: Any) -> Expression:
    return Call(way, (column, Literal(value, column.type)), BOOLEAN)  # type: ignore[attr-defined]


atoms = st.one_of(
    st.builds(compare, st.sampled_from(("=", "!=", "<", "<=", ">", ">=")), st.just(X), st.integers(-2, 3)),
    st.builds(
        compare, st.sampled_from(("<", "<=", ">", ">=")), st.just(V), st.sampled_from([-1.0, 0.5, 2.0])
    ),
    st.builds(lambda n: Call("<", (Literal(n, INT), X), BOOLEAN), st.integers(-2, 3)),
    st.just(Call("is_null", (V,), BOOLEAN)),
    st.just(InList(X, (Literal(1, INT), Literal(None, INT)))),
    # overflows for x = 3: the sensor must send that reading, its query will say what is wrong
    st.just(compare(">", Call("*", (X, Literal(2**62, INT)), INT), 0)),
)
predicates = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, b: Call("and", (a, b), BOOLEAN), inner, inner),
        st.builds(lambda a, b: Call("or", (a, b), BOOLEAN), inner, inner),
        st.builds(lambda a: Call("not", (a,), BOOLEAN), inner),
    ),
    max_leaves=4,
)
COUNT = Aggregate("count", None, False, INT)
summaries = st.builds(
    Summary,
    st.sampled_from([10 * SECOND, 15 * SECOND, 20 * SECOND]),
    st.sets(st.sampled_from([COUNT, Aggregate("sum", V, False, FLOAT)]), min_size=1).map(frozenset),
)
a_demand = st.builds(
    Demand,
    st.sampled_from([(), (SECOND,), (4 * SECOND,), (6 * SECOND,), (4 * SECOND, 6 * SECOND), (10 * SECOND,)]),
    st.sets(st.sampled_from(["x", "v", "w"])).map(frozenset),
    st.one_of(st.none(), predicates),
    st.one_of(st.none(), summaries),
    st.one_of(st.none(), st.sets(st.integers(1, 3)).map(frozenset)),
)
ROWS = [{"x": x, "v": v} for x in (None, -2, 0, 1, 2, 3) for v in (None, -1.0, 0.75, 2.0)]


def wanted(predicate: Expression | None, row: dict[str, Any]) -> bool:
    """The query's own filter; an error is a reason to see the tuple."""
    if predicate is None:
        return True
    try:
        return evaluate(predicate, row, None) is True
    except NilometerError:
        return True


@settings(max_examples=150)
@given(st.lists(a_demand, min_size=1, max_size=4))
def test_a_filter_never_hides_a_tuple_that_another_query_asks_for(found: list[Demand]) -> None:
    together = combine(found)
    assert together is not None
    for row in ROWS:
        if any(wanted(demand.predicate, row) for demand in found):
            assert asks_for(together, row)
        else:
            assert not asks_for(together, row)
    for demand in found:
        assert demand.columns <= together.columns
        assert together.sensors is None or (demand.sensors is not None and demand.sensors <= together.sensors)
        if together.interval is not None:
            assert demand.interval is not None
            assert demand.interval % together.interval == 0
        for tick in range(0, 121 * SECOND, SECOND):
            assert together.due(tick) == any(one.due(tick) for one in found)
            assert together.interval is None or not together.due(tick) or tick % together.interval == 0
        if together.aggregate is not None:
            assert demand.aggregate is not None
            assert demand.aggregate.every % together.aggregate.every == 0
            assert demand.aggregate.aggregates <= together.aggregate.aggregates
            assert (demand.intervals, union([demand.predicate])) == (together.intervals, together.predicate)


@settings(max_examples=40)
@given(st.lists(a_demand, min_size=2, max_size=3))
def test_order_and_repetition_do_not_matter_where_no_demand_implies_another(found: list[Demand]) -> None:
    first = combine(found)
    assert first is not None
    assert combine([first]) == combine([first, first])
    for order in permutations(found):
        other = combine(order)
        assert other is not None
        assert (other.intervals, other.columns, other.sensors) == (
            first.intervals,
            first.columns,
            first.sensors,
        )
        for row in ROWS:
            assert asks_for(other, row) == asks_for(first, row)


def test_combination() -> None:
    fast = Demand((4 * SECOND,), frozenset({"x"}), compare(">", X, 3))
    slow = Demand((6 * SECOND,), frozenset({"v"}), compare(">", X, 5), sensors=frozenset({1}))
    both = combine([fast, slow])
    assert both == Demand((4 * SECOND, 6 * SECOND), frozenset({"x", "v"}), compare(">", X, 3))
    assert combine([]) is None
    everything = combine([fast, Demand((SECOND,), frozenset())])
    assert everything is not None
    assert everything.predicate is None
    either = combine([fast, Demand((SECOND,), frozenset(), compare("<", V, 0.0))])
    assert either is not None
    assert str(either.predicate) == "v < 0.0 OR x > 3"
    with pytest.raises(ValueError, match="positive"):
        Demand((0,), frozenset())
    with pytest.raises(ValueError, match="multiple"):
        Demand((SECOND, 2 * SECOND), frozenset())


def test_only_aggregates_of_the_same_readings_share_a_summary() -> None:
    def asked(every: int, predicate: Expression | None = None, interval: int = SECOND) -> Demand:
        return Demand((interval,), frozenset(), predicate, Summary(every * SECOND, frozenset({COUNT})))

    together = combine([asked(10), asked(15)])
    assert together is not None
    assert together.aggregate == Summary(5 * SECOND, frozenset({COUNT}))
    for other in (
        asked(10, compare(">", X, 3)),
        asked(10, interval=2 * SECOND),
        Demand((SECOND,), frozenset()),
    ):
        mixed = combine([asked(10), other])
        assert mixed is not None
        assert mixed.aggregate is None


def test_what_is_asked_of_one_sensor() -> None:
    one = compare("=", ColumnReference("id", INT), 1)
    demand = Demand((SECOND,), frozenset({"x"}), Call("and", (one, compare(">", X, 3)), BOOLEAN))
    assert for_sensor(demand, 2) is None
    found = for_sensor(demand, 1)
    assert found is not None
    assert str(found.predicate) == "x > 3"
    assert for_sensor(Demand((SECOND,), frozenset(), sensors=frozenset({3})), 1) is None


# ---- answers ---------------------------------------------------------------------------------------------------------

QUERIES = [
    "SELECT time, id, x FROM s WHERE x > 2",
    "SELECT time, id, x FROM s WHERE id = 1 AND x < 1",
    "SELECT id, x, v FROM s SAMPLE EVERY 4 SECONDS",
    "SELECT id, x, v FROM s WHERE x > 1 SAMPLE EVERY 6 SECONDS",
    "SELECT COUNT(*) AS n, SUM(x) AS t FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE x >= 2",
    "SELECT id, AVG(v) AS m FROM s [RANGE 6 SECONDS SLIDE 6 SECONDS] GROUP BY id SAMPLE EVERY 2 SECONDS",
    "SELECT id, x FROM s [NOW SLIDE 3 SECONDS] WHERE x > 0",
    "SELECT MAX(x) AS top, COUNT(*) AS n FROM s [AT NOW - 4 SECONDS SLIDE 4 SECONDS]",
    "SELECT time, id, LAG(x) AS before FROM s WHERE x != 0",
    "SELECT x FROM (SELECT x, time, id FROM s WHERE x > 1) q SAMPLE EVERY 4 SECONDS",
    "SELECT zone, COUNT(*) AS n FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS] WHERE zone = 'a' GROUP BY zone",
]


@settings(max_examples=25)
@given(st.data())
def test_no_query_can_tell_which_others_run(data: st.DataObject) -> None:
    """The answer over what the sensors send on behalf of all is the answer over all they could have sent."""
    live = data.draw(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3, unique=True))
    values = data.draw(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), min_size=4, max_size=24))
    start = data.draw(st.integers(0, 5))
    rows = [
        {"time": (start + second) * SECOND, "id": sensor + 1, "x": pair[sensor], "v": pair[sensor] / 2}
        for second, pair in enumerate(values)
        for sensor in (0, 1)
    ]
    full, thin = nilometer.connect(), nilometer.connect()
    for database in (full, thin):
        database.execute(SCHEMA)
    found = [demand_of(full.sql(query).physical)["s"] for query in live]
    sensor_demands = {i: combine(d for q in found if (d := for_sensor(q, i)) is not None) for i in (1, 2)}

    def sent(place: int, row: dict[str, Any]) -> bool:
        if place in (
            0,
            1,
            len(rows) - 1,
        ):  # each sensor's first reading after a command, and a heartbeat's worth of time
            return True
        demand = sensor_demands[row["id"]]
        if demand is None:
            return False
        return demand.due(row["time"]) and asks_for(demand, row)

    full.append("s", rows)
    thin.append("s", [row for place, row in enumerate(rows) if sent(place, row)])
    for query in live:
        assert same_answer(thin.sql(query).run().rows, full.sql(query).run().rows) is None, query
