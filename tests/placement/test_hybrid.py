"""What runs where: the ability table, the cuts between network and gateway, and the choice between gateway and Spark."""

from __future__ import annotations

import pytest

from nilometer.placement import Placement, place
from nilometer.placement.abilities import forced_to_the_gateway, why_not_on_a_mote
from nilometer.placement.sources import sources_of
from nilometer.plan import physical
from placement.scenarios import Q1, Q2, Q3, SCHEMA, brook, line_network, physical_plan

PUSHED = (
    SCHEMA + "CREATE STREAM Wells (level INT) PUSHED FROM 'mqtt://localhost/wells' EXPECT EVERY 1 MINUTE;"
)


def _placed(query: str, schema: str = PUSHED, rates: dict[str, float] | None = None) -> Placement:
    return place(physical_plan(query, "default", schema), brook(), rates=rates)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT MEDIAN(depth) FROM River[NOW]", "motes have no AGGR"),
        ("SELECT STDEV(depth * 1.5) FROM River[NOW]", "motes have STDEV of INT only"),
        ("ISTREAM SELECT depth FROM River[NOW]", "motes have no ISTREAM"),
        ("SELECT depth FROM River[UNBOUNDED]", "a window without beginning outgrows a mote"),
        ("SELECT ln(depth) AS x FROM River[NOW]", "motes have no function ln"),
        ("SELECT AVG(depth) FROM River[RANGE 20 MINUTES]", "is no multiple of the acquisition interval"),
        ("SELECT LAG(depth) AS before FROM River", "motes have no LAG"),
        ("SELECT arity FROM SIMILAR(River, depth)[RANGE 1 HOUR]", "motes have no SN_JOIN"),
        ("SELECT level FROM Wells[NOW] w, River[NOW] r", "'Wells' is pushed, not sensed"),
        (
            "SELECT depth FROM River[NOW] WHERE time > '2020-01-01'",
            "cannot compute TIME '2020-01-01T00:00:00Z'",
        ),
        ("SELECT depth, NULL AS nothing FROM River[NOW]", "motes have no constant NULL"),
        ("SELECT COUNT(*) FROM River[NOW] GROUP BY ln(depth)", "motes have no function ln"),
        (
            "SELECT depth FROM River[NOW] WHERE depth IN (SELECT rain FROM Hilltop[NOW])",
            "motes have no SEMI join",
        ),
    ],
)
def test_what_a_mote_cannot_run_is_at_the_gateway_with_a_reason(query: str, reason: str) -> None:
    found = _placed(query)
    assert found.fragments[0].host == "gateway"
    assert any(reason in why for _, why in found.at_gateway), found.at_gateway


@pytest.mark.parametrize(
    "query",
    [
        Q1,
        Q2,
        Q3,
        "SELECT AVG(depth) FROM River[RANGE 10 ROWS SLIDE 10 ROWS]",
        "SELECT SUM(CASE WHEN depth > 3 THEN depth END) FROM River[NOW]",
    ],
)
def test_what_it_can_run_has_no_reason(query: str) -> None:
    plan = physical_plan(query)
    sources = sources_of(plan, brook())
    assert forced_to_the_gateway(plan, sources) == {}
    assert all(why_not_on_a_mote(node, sources) is None for node in physical.walk_plan(plan))


def test_an_operator_at_the_gateway_takes_all_above_it_along() -> None:
    found = _placed("SELECT MAX(m) FROM (RSTREAM SELECT MEDIAN(depth) AS m FROM River[NOW]) [RANGE 1 HOUR]")
    here = {node.operator for node in found.fragments[0].operators}
    assert {"DELIVER", "AGGR"} <= here
    assert {node.operator for fragment in list(found.fragments)[1:] for node in fragment.operators} <= {
        "SP_ACQUIRE",
        "TIME_WINDOW",
        "PROJECT",
    }


def test_a_join_of_many_with_many_is_cheaper_at_the_gateway() -> None:
    # Eight times eight rows leave a join in the network, sixteen go in.
    network = line_network(9)
    schema = "CREATE STREAM River (rain INT, depth INT) SENSED EVERY 15 MINUTES;"
    query = "SELECT a.depth, b.rain FROM River[NOW] a, River[AT NOW - 15 MINUTES] b WHERE a.rain < b.rain"
    found = place(physical_plan(query, "default", schema), network)
    assert found.fragments[0].host == "gateway"
    assert ("NL_JOIN", "cheaper than in the network") in found.at_gateway
    whole = next(option for option in found.alternatives if "as much as can be" in option.name)
    chosen = next(option for option in found.alternatives if option.chosen)
    assert whole.estimate is not None
    assert chosen.estimate is not None
    assert whole.estimate.packets_per_day > chosen.estimate.packets_per_day


def test_an_aggregate_is_cheaper_in_the_network() -> None:
    found = place(physical_plan(Q2), line_network(20))
    assert found.fragments[0].host == "mote"
    raw = next(option for option in found.alternatives if option.name == "every reading shipped as it is")
    assert raw.estimate is not None
    assert raw.estimate.packets_per_day > 3 * found.estimate.packets_per_day


WIDE = """SELECT AVG(depth) AS a, MIN(depth) AS b, MAX(depth) AS c, AVG(rain) AS d, MIN(rain) AS e, MAX(rain) AS f,
STDEV(rain) AS g, STDEV(depth) AS h FROM River[NOW]"""


def test_partial_results_too_wide_for_a_packet_are_made_at_the_gateway_from_the_readings() -> None:
    found = _placed(WIDE)
    assert found.fragments[0].host == "gateway"
    reasons = dict(found.at_gateway)
    assert "is larger than a packet" in reasons["AGGR_INIT"]
    assert reasons["AGGR_EVAL"] == "what it reads is made there"
    refused = [option for option in found.alternatives if option.estimate is None]
    assert [option.name for option in refused] == [
        "as much as can be in the network",
        "AGGR_MERGE and what is above it at the gateway",
    ]


def test_columns_that_follow_from_others_are_made_at_the_gateway() -> None:
    sums = ", ".join(f"depth + {n} AS d{n}" for n in range(12))
    found = _placed(f"SELECT {sums} FROM River[NOW]")  # in the network, larger than a packet
    assert found.at_gateway[0][0] == "PROJECT"
    assert found.placed.flows[0].size < 5
    few = _placed("SELECT depth, depth + 1 AS a, depth + 2 AS b FROM River[NOW]")
    assert few.at_gateway == (("PROJECT", "cheaper than in the network"),)
    assert not _placed("SELECT depth + rain AS both FROM River[NOW]").at_gateway


def test_a_group_for_each_node_is_cheaper_as_a_reading() -> None:
    # Sum and count take three times what a reading takes, and no two groups meet.
    found = _placed("SELECT id, AVG(depth) FROM River[NOW] GROUP BY id")
    assert ("AGGR_INIT", "cheaper than in the network") in found.at_gateway


def test_many_readings_from_elsewhere_make_the_rest_a_matter_for_spark() -> None:
    query = "SELECT r.depth FROM River[NOW] r, Wells[RANGE 15 MINUTES] w WHERE r.rain = w.level"
    assert _placed(query, rates={"w": 20.0}).fragments[0].host == "gateway"
    assert _placed(query, rates={"w": 2e6}).fragments[0].host == "spark"
