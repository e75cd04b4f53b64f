"""SIMILAR and PHENOMENA over clusters: exact, whatever the clusters are and however they change; losses are counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.engine.clustering import ClusterOptions, prepare_clustered
from nilometer.errors import ConfigurationError, DataError, UnsupportedError
from nilometer.sensornet.clustered_report import ClusteredResult, clustered_json, clustered_text
from nilometer.types import MINUTE, SECOND
from properties.test_hosts_agree import LONG, RELAXED

SIMILAR = (
    "SELECT * FROM SIMILAR(air, v) [RANGE 20 SECONDS]",
    "SELECT * FROM SIMILAR(air, v WITHIN 1 PAIRS) [RANGE 20 SECONDS]",
    "SELECT * FROM SIMILAR(air, v WITHIN 0.5 COUNTS) [RANGE patience SECONDS]",
    "SELECT * FROM SIMILAR(air, v FLATTEN) [RANGE 7 SECONDS]",
    "SELECT * FROM SIMILAR(air, v WITHIN 1 SAMPLE 2) [RANGE 30 SECONDS]",
    "SELECT time, other_id, other_value FROM SIMILAR(air, name PAIRS) [RANGE patience SECONDS]",
    "SELECT id, SUM(arity) AS s FROM (SELECT * FROM SIMILAR(air, v) [RANGE 20 SECONDS]) "
    "[RANGE 1 MINUTE SLIDE 30 SECONDS] s GROUP BY id",
)
PHENOMENA = (
    "SELECT * FROM PHENOMENA(ON air.v ABOVE 1 RANGE 20 SECONDS SLIDE 10 SECONDS NEIGHBOURS WITHIN 2 M)",
    "SELECT * FROM PHENOMENA(ON air.v EQUAL RANGE 30 SECONDS SLIDE 5 SECONDS STRENGTH 2 MEMBERS 3)",
    "SELECT * FROM CURRENT(ON air.v BELOW 2 RANGE 20 SECONDS SLIDE 10 SECONDS NEIGHBOURS WITHIN 1.5 M MEMBERS 3)",
    "SELECT * FROM PHENOMENA(ON air.v RISING 1 PER 10 SECONDS RANGE 20 SECONDS SLIDE 10 SECONDS NEIGHBOURS WITHIN 2 M)",
    "SELECT * FROM PHENOMENA(ON air.v WITHIN 1 RANGE 10 SECONDS SLIDE 10 SECONDS NEIGHBOURS WITHIN 2 M WHERE v <> 3)",
    "SELECT kind, COUNT(*) AS n FROM PHENOMENA(ON air.v BUCKET 2 RANGE 20 SECONDS SLIDE 10 SECONDS) "
    "[RANGE 1 MINUTE SLIDE 1 MINUTE] p GROUP BY kind",
)


@st.composite
def fields(draw: st.DrawFn) -> tuple[str, dict[int, tuple[float, float]], list[dict[str, Any]]]:
    """A type of values, places, and readings of sensors that come and go, out of order and at equal times."""
    count = draw(st.integers(2, 9))
    cells = draw(st.lists(st.integers(0, 15), min_size=count, max_size=count, unique=True))
    places = {3 * sensor + 1: (float(cell % 4), float(cell // 4)) for sensor, cell in enumerate(cells)}
    kind = draw(st.sampled_from(("INT", "FLOAT")))
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(sorted(places)),
                st.integers(0, 18),
                st.integers(-1, 1),
                st.sampled_from((None, 0, 1, 2, 3)),
            ),
            min_size=1,
            max_size=60,
        )
    )
    readings = [
        {
            "time": max(0, 5 * step + jitter) * SECOND,
            "id": sensor,
            "v": float(value) if kind == "FLOAT" and value is not None else value,
            "name": None if value is None else f"n{value % 2}",
            "patience": None if sensor % 4 == 1 else 3 * sensor,
        }
        for sensor, step, jitter, value in sorted(rows, key=lambda row: row[1])
    ]
    return kind, places, readings


def database_of(
    kind: str, places: dict[int, tuple[float, float]], readings: list[dict[str, Any]]
) -> nilometer.Database:
    database = nilometer.connect()
    sensors = "".join(f"CREATE SENSOR {node} OF air AT ({x}, {y});" for node, (x, y) in places.items())
    database.execute(
        f"CREATE STREAM air (v {kind}, name STRING, patience INT) PUSHED DELAY 20 SECONDS COORDINATES 'm';{sensors}"
    )
    database.append("air", readings)
    return database


ranges = st.sampled_from((0.5, 1.2, 2.5, 9.0))
reclusters = st.none() | st.integers(7, 60).map(lambda each: each * SECOND)


@settings(RELAXED, max_examples=400 if LONG else 30)
@given(fields(), st.sampled_from(SIMILAR + PHENOMENA), ranges, reclusters, st.integers(0, 3))
def test_over_clusters_the_answer_is_that_of_one_place(
    field: tuple[Any, ...], text: str, distance: float, recluster: int | None, seed: int
) -> None:
    database = database_of(*field)
    options = ClusterOptions(10 * MINUTE, None, distance, recluster=recluster, seed=seed)
    simulation = prepare_clustered(database.sql(text), options)
    try:
        _, result = simulation.run()
    except DataError:
        return  # all values are NULL, or WHERE leaves none
    assert result.compared.equal, f"{result.compared}\n{clustered_text(result)}"
    assert not result.losses.any
    assert result.probed is None or (result.probed.recall, result.probed.late) == (1.0, 0)


@settings(RELAXED, max_examples=400 if LONG else 20)
@given(
    fields(),
    st.sampled_from(SIMILAR[:3] + PHENOMENA[:2]),
    ranges,
    reclusters,
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 100)), min_size=1, max_size=3),
    st.booleans(),
    st.integers(0, 3),
)
def test_what_deaths_and_the_radio_take_away_is_counted(
    field: tuple[Any, ...],
    text: str,
    distance: float,
    recluster: int | None,
    deaths: list[tuple[int, int]],
    losses: bool,
    seed: int,
) -> None:
    kind, places, readings = field
    database = database_of(kind, places, readings)
    names = sorted(places)
    kills = tuple((names[each % len(names)], after * SECOND) for each, after in deaths)
    options = ClusterOptions(
        10 * MINUTE, None, distance, recluster=recluster, losses=losses, kills=kills, seed=seed
    )
    try:
        _, result = database.sql(text).simulate_clusters(options)
    except DataError:
        return  # the dead had all the readings
    if not result.losses.any:
        assert result.compared.equal, f"{result.compared}\n{clustered_text(result)}"
    if result.probed is not None:
        assert result.probed.found <= result.probed.expected
        assert result.losses.any or result.probed.recall == 1.0


@settings(RELAXED, max_examples=100 if LONG else 10)
@given(fields(), ranges, st.integers(0, 3))
def test_feedback_finds_a_part_and_makes_nothing_up(
    field: tuple[Any, ...], distance: float, seed: int
) -> None:
    query = database_of(*field).sql(SIMILAR[1])
    options = ClusterOptions(10 * MINUTE, None, distance, feedback=True, seed=seed)
    try:
        _, result = prepare_clustered(query, options).run()
    except DataError:
        return  # all values are NULL
    assert result.compared.surplus == 0, "a row of PAIRS is a match"
    assert result.probed is not None
    assert result.probed.made <= result.probed.offered
    assert result.probed.expected - result.probed.found == result.compared.missing


MEADOW = "examples/meadow"


def run(text: str, **options: Any) -> ClusteredResult:
    database = nilometer.connect(MEADOW)
    (network,) = database.catalog.networks()
    query = database.sql(text)
    chosen = ClusterOptions(60 * MINUTE, network=network, **options)
    return prepare_clustered(query, chosen).run()[1]


def test_the_meadow_finds_its_haze_in_the_network() -> None:
    result = run("SELECT time, kind, size FROM PHENOMENA(haze)")
    assert (result.compared.equal, result.compared.host) == (True, "reference evaluator")
    assert result.rows > 10
    assert result.kept, "candidates that are in no phenomenon stay where they are"
    assert 4 <= result.formations[0].count <= 12
    assert clustered_json(result)["compared"]["equal"]
    text = clustered_text(result)
    assert "the same as the reference evaluator's" in text
    assert "lost" not in text.splitlines()[-1]
    told = sum(result.traffic[kind].bytes for kind in ("reading", "change"))
    assert told < result.straight.bytes, "changes are fewer than readings"


def test_feedback_saves_probes_on_the_meadow() -> None:
    text = "SELECT time, id, value, arity FROM SIMILAR(air, haze) [RANGE 3 MINUTES]"
    everyone, guided = run(text), run(text, feedback=True)
    assert everyone.compared.equal
    assert everyone.probed is not None
    assert guided.probed is not None
    assert everyone.probed.made == everyone.probed.offered
    assert guided.probed.made < 0.9 * everyone.probed.made
    assert guided.probed.recall > 0.5
    assert guided.traffic["probe"].bytes < everyone.traffic["probe"].bytes
    assert "feedback notes" in clustered_text(guided)


def test_a_head_that_dies_is_replaced() -> None:
    text = "SELECT time, id, arity FROM SIMILAR(air, haze) [RANGE 3 MINUTES]"
    head = run(text).formations[0].heads.tolist()[2]
    calm, shaken = (run(text, recluster=10 * MINUTE, kills=kills) for kills in ((), ((head, 18 * MINUTE),)))
    assert calm.compared.equal
    assert len(calm.formations) == 4
    assert len(shaken.formations) == 5
    assert shaken.losses.any or shaken.compared.equal
    assert f"node {head} died after 0.3 h" in clustered_text(shaken)
    assert "hand-over" in calm.traffic


def test_heads_keep_readings_as_long_as_busy_radios_need() -> None:
    """A slow radio, and many sensors that read the same: probes take longer than anybody would have thought."""
    places = {node: (float(node % 6), float(node // 6)) for node in range(36)}
    readings = [
        {"time": 10 * step * SECOND, "id": node, "v": 1, "name": "n", "patience": 1}
        for step in range(12)
        for node in places
    ]
    query = database_of("INT", places, readings).sql(
        "SELECT * FROM SIMILAR(air, v COUNTS) [RANGE 20 SECONDS]"
    )
    simulation = prepare_clustered(query, ClusterOptions(10 * MINUTE, None, 1.1))
    slow = replace(simulation.field, radio=replace(simulation.field.radio, bytes_per_second=300))
    _, result = replace(simulation, field=slow).run()
    assert result.compared.equal
    assert result.delays.max() > 10 * MINUTE


def test_what_clusters_cannot_run_is_refused() -> None:
    database = nilometer.connect(MEADOW)
    (network,) = database.catalog.networks()
    options = ClusterOptions(MINUTE, network=network)
    with pytest.raises(UnsupportedError, match="clusters run one SIMILAR"):
        prepare_clustered(database.sql("SELECT AVG(haze) FROM air [NOW]"), options)
    with pytest.raises(ConfigurationError, match="--feedback is for SIMILAR"):
        prepare_clustered(
            database.sql("SELECT * FROM PHENOMENA(haze)"),
            ClusterOptions(MINUTE, network=network, feedback=True),
        )
    with pytest.raises(ConfigurationError, match="there is no node 99"):
        prepare_clustered(
            database.sql("SELECT * FROM PHENOMENA(haze)"),
            ClusterOptions(MINUTE, network=network, kills=((99, 1),)),
        )
    empty = nilometer.connect()
    empty.execute("CREATE STREAM air (v INT) PUSHED")
    with pytest.raises(DataError, match="there are no readings of 'air'"):
        prepare_clustered(empty.sql("SELECT * FROM SIMILAR(air, v) [RANGE 1 SECOND]"), ClusterOptions(MINUTE))
    empty.append("air", [{"time": 0, "id": 1, "v": 1}])
    with pytest.raises(ConfigurationError, match="its sensors have no places"):
        prepare_clustered(empty.sql("SELECT * FROM SIMILAR(air, v) [RANGE 1 SECOND]"), ClusterOptions(MINUTE))
