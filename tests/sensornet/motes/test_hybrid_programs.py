"""Plans that motes run a part of and the gateway the rest: emulated, with the answers of the reference evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest

from nilometer.engine.mote_report import measurements
from nilometer.plan import physical
from nilometer.sensornet.motes.finishing import with_gateway_states
from sensornet.motes.emulated import SCHEMA, ask, grid, tried

pytestmark = [pytest.mark.motes, pytest.mark.slow]


@pytest.mark.parametrize(
    ("text", "at_gateway"),
    [
        ("SELECT MEDIAN(depth) AS m FROM River [NOW]", "AGGR"),
        ("SELECT MEDIAN(depth) AS m FROM River [RANGE 30 SECONDS SLIDE 20 SECONDS]", "AGGR TIME_WINDOW"),
        ("SELECT id, MEDIAN(depth) AS m FROM River [RANGE 5 ROWS] GROUP BY id", "AGGR ROW_WINDOW"),
        ("ISTREAM SELECT depth FROM River [NOW]", "ISTREAM"),
        (
            "ISTREAM SELECT AVG(depth) AS a FROM River [RANGE 5 ROWS SLIDE 3 ROWS]",
            "ISTREAM AGGR_EVAL AGGR_MERGE AGGR_INIT ROW_WINDOW",
        ),
        (
            "SELECT AVG(depth) AS a, ln(AVG(depth) + 1) AS l FROM River [RANGE 5 ROWS SLIDE 3 ROWS]",
            "",  # a row of a window is a row of the answer, whichever window it is of
        ),
        ("SELECT id, depth - LAG(depth) AS d FROM River WHERE depth > 2", "LAG"),
        ("SELECT id, depth FROM River [NOW] WHERE moisture / depth > 0.1 AND rain > 1", "SELECT"),
        ("SELECT id, depth FROM River [NOW] WHERE depth * depth * depth * depth > rain", "SELECT"),
        ("SELECT r.id FROM River [NOW] r, Hilltop [NOW] h WHERE r.temp / h.rain > 0.1", "NL_JOIN"),
        (
            "SELECT r.id FROM River [NOW] r, Hilltop [NOW] h WHERE r.rain = h.rain AND mod(r.temp, 2.0) < h.rain",
            "HASH_JOIN",
        ),
        ("SELECT arity FROM SIMILAR(River, depth) [RANGE 40 SECONDS]", "SN_JOIN"),
        (
            "SELECT SUM(rain * depth * depth * rain) AS s FROM River [NOW]",
            "AGGR_EVAL AGGR_MERGE AGGR_INIT",
        ),
        (
            "SELECT r.depth FROM River [NOW] r, Hilltop [NOW SLIDE 30 SECONDS] h WHERE r.rain < h.rain",
            "NL_JOIN",
        ),
        ("SELECT depth FROM River [NOW] WHERE depth IN (SELECT rain FROM Hilltop [NOW])", "HASH_JOIN"),
        (
            "SELECT MAX(m) AS x FROM (RSTREAM SELECT AVG(depth) AS m FROM River [NOW]) [RANGE 30 SECONDS]",
            "AGGR_EVAL AGGR_MERGE AGGR_INIT TIME_WINDOW RSTREAM",
        ),
        ("SELECT STDEV(depth) AS s, ln(STDEV(depth) + 1) AS l FROM River [NOW]", ""),
        ("(SELECT id, rain FROM River [NOW]) UNION (SELECT id, rain FROM Hilltop [NOW])", "UNION"),
        ("(SELECT id, rain FROM River) UNION (SELECT id, rain FROM Hilltop)", "UNION"),
        (
            "SELECT COUNT(*) AS n FROM River [UNBOUNDED SLIDE 20 SECONDS]",
            "AGGR_EVAL AGGR_MERGE AGGR_INIT TIME_WINDOW",
        ),
        (
            "SELECT depth FROM River [NOW] WHERE depth > (SELECT AVG(depth) FROM River [NOW])",
            "SELECT NL_JOIN",
        ),
        (
            "SELECT a.depth, b.rain FROM River a, Hilltop b WINDOW = 20 SECONDS WHERE a.rain = b.rain",
            "HW_JOIN",
        ),
        (
            "SELECT a.id, b.rain FROM River a ASOF JOIN Hilltop b ON a.rain = b.rain WITHIN 1 MINUTE",
            "ASOF_JOIN",
        ),
        (
            "SELECT COMPLETENESS() AS c, AVG(depth) AS a FROM River [RANGE 30 SECONDS]",
            "NL_JOIN AGGR TIME_WINDOW",
        ),
        (
            "SELECT MIN(rain) AS a, SUM(moisture) AS b, SUM(temp) AS c, AVG(moisture) AS d, AVG(temp) AS e,"
            " AVG(rain) AS f FROM River [NOW]",
            "AGGR_EVAL AGGR_MERGE AGGR_INIT",  # partial results that no packet holds
        ),
    ],
)
def test_motes_do_a_part(text: str, at_gateway: str, tmp_path: Path) -> None:
    trial = tried(text, tmp_path)
    assert trial.emulation.difference is None
    assert trial.emulation.answer.rows
    assert trial.emulation.run.sound
    placement = trial.compilation.placement
    silent = ("PROJECT", "RENAME")
    assert [name for name, _ in placement.at_gateway if name not in silent] == at_gateway.split()
    for row in measurements(trial.emulation):
        assert row["ram"] == pytest.approx(row["ram_estimate"], rel=0.1)
        assert row["flash"] == pytest.approx(row["flash_estimate"], rel=0.1)


@pytest.mark.parametrize("values", [[], [7], [3, 4, 8, 15]])
def test_states_of_motes_are_states_of_the_gateway(values: list[int]) -> None:
    """Sums that motes send, as the gateway merges them: by mean and squared deviations."""
    plan = ask("SELECT STDEV(depth) AS s FROM River [NOW]").physical
    (initial,) = (node for node in physical.walk_plan(plan) if isinstance(node, physical.AggregateInit))
    name = initial.items[0].name
    sent = {"#count": len(values), "#sum": sum(values), "#squares": sum(value**2 for value in values)}
    states = with_gateway_states(initial, {f"{name}{part}": value for part, value in sent.items()})
    mean = sum(values) / len(values) if values else 0.0
    assert states[f"{name}#mean"] == pytest.approx(mean)
    assert states[f"{name}#deviations"] == pytest.approx(sum((value - mean) ** 2 for value in values))


def test_a_table_is_joined_at_the_gateway(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("node,name\n5,weir\n7,mill\n8,ford\n", "utf-8")
    table = f"CREATE TABLE places (node INT, name STRING) STORED AT '{tmp_path}/places.csv';"
    text = "SELECT p.name, r.depth FROM River [NOW] r, places p WHERE r.id = p.node"
    trial = tried(text, tmp_path / "motes", schema=SCHEMA + table)
    assert trial.emulation.difference is None
    assert {row[1] for row in trial.emulation.answer.rows} == {"weir", "mill"}


def test_as_many_tuples_without_columns_as_a_packet_has_bytes(tmp_path: Path) -> None:
    """What tells tuples of one kind in a packet apart is half a byte; COUNT(*) reads no column."""
    network = grid(5, 2, {"river": list(range(1, 10))})
    text = "SELECT COUNT(*) AS n FROM River [UNBOUNDED SLIDE 20 SECONDS]"
    trial = tried(text, tmp_path, network=network, beta=7)
    assert trial.emulation.difference is None
    assert trial.emulation.run.sound
