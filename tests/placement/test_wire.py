"""Tuples and packets: layouts, and packing against putting one tuple after the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.placement import Flow, Placement, Transfer
from nilometer.placement.packets import loads_of, packets_for
from nilometer.placement.population import Population
from nilometer.placement.sources import source_key
from nilometer.placement.tuple_layout import column_sizes, count_size, derived_times, sum_size, tuple_layout
from nilometer.placement.wire_format import COMPACT_FORMAT, SNEE_2010_FORMAT
from nilometer.plan import physical
from nilometer.types import MINUTE
from placement.scenarios import Q3, physical_plan, placed
from placement.valid_agenda import packets_one_by_one

POPULATION = Population({}, 15 * MINUTE)


@pytest.fixture(scope="module", params=["default", "snee-2010"])
def example(request: pytest.FixtureRequest) -> Placement:
    return placed(Q3, request.param)


@given(
    kinds=st.lists(
        st.tuples(st.integers(1, 22), st.integers(1, 40), st.integers(1, 4)), min_size=1, max_size=4
    ),
    beta=st.integers(1, 30),
)
def test_packing_is_as_if_tuple_by_tuple(
    example: Placement, kinds: list[tuple[int, int, int]], beta: int
) -> None:
    flows = tuple(
        Flow(number, 0, (1, 0), rows, size, stride) for number, (size, rows, stride) in enumerate(kinds, 1)
    )
    wire, room = example.profile.wire, example.costs.packet_room
    transfer = Transfer(1, 0, 0, 1, flows, 0)
    agenda = example.agenda
    expected = packets_one_by_one(transfer, _with_beta(example, beta))
    assert packets_for(loads_of(flows, wire), beta, room, wire) == expected
    assert agenda is example.agenda


def _with_beta(example: Placement, beta: int) -> Placement:
    from dataclasses import replace

    return replace(example, agenda=replace(example.agenda, beta=beta))


def test_flows_of_one_kind_are_one_load() -> None:
    flows = [Flow(3, 1, (site, 0), 1, 5) for site in (1, 2, 3)] + [Flow(2, 1, (4, 0), 1, 3)]
    assert [(load.rows, load.size) for load in loads_of(flows, COMPACT_FORMAT)] == [(3, 5), (1, 3)]
    assert len(loads_of(flows, SNEE_2010_FORMAT)) == 4


def test_a_c_struct_has_gaps_and_ours_has_none() -> None:
    river = next(
        node
        for node in physical.walk_plan(physical_plan(Q3, "snee-2010"))
        if "River.depth" in node.schema.names and isinstance(node, physical.SpAcquire)
    )
    padded = tuple_layout(river, SNEE_2010_FORMAT, POPULATION)
    assert padded.size == 16
    assert [(field.name, field.offset, field.size) for field in padded.fields] == [
        ("@evaluation", 0, 4),
        ("River.time", 4, 4),
        ("River.id", 8, 2),
        ("River.rain", 10, 2),
        ("River.depth", 12, 2),
    ]
    packed = tuple_layout(river, COMPACT_FORMAT, POPULATION)
    assert packed.size == 1 + 2 + 2 + 2
    assert packed.derived == (("River.time", 0),)


def test_a_time_is_derived_only_where_it_follows_from_the_evaluation() -> None:
    def derived(query: str) -> dict[str, int]:
        plan = physical_plan(query)
        return derived_times(plan)

    assert derived("SELECT time, depth FROM River[NOW]") == {"time": 0}
    assert derived("SELECT time, depth FROM River[AT NOW - 30 MINUTES]") == {"time": 30 * MINUTE}
    assert derived("SELECT time, depth FROM River[RANGE 30 MINUTES]") == {}
    joined = "SELECT r.time AS a, h.time AS b FROM River[NOW] r, Hilltop[AT NOW - 15 MINUTES] h"
    assert derived(joined) == {"a": 0, "b": 15 * MINUTE}


def partial_sizes(query: str, sites: int | None) -> dict[str, int]:
    plan = physical_plan(query)
    initial = next(node for node in physical.walk_plan(plan) if isinstance(node, physical.AggregateInit))
    acquires = (node for node in physical.walk_plan(plan) if isinstance(node, physical.SpAcquire))
    known = {source_key(node): sites or 0 for node in acquires}
    population = None if sites is None else Population(known, 15 * MINUTE)
    return {
        name.partition("#")[0][:3] + name.partition("#")[2]: size
        for name, size in column_sizes(initial, population).items()
    }


def test_sums_are_wider_than_their_terms() -> None:
    sizes = partial_sizes("SELECT SUM(depth), MIN(depth), COUNT(*), AVG(depth) FROM River[NOW]", None)
    assert sizes == {"sumsum": 4, "minmin": 2, "coucount": 2, "avgsum": 4, "avgcount": 2}


def test_partial_results_are_as_wide_as_their_readings_make_them() -> None:
    query = "SELECT AVG(depth), MIN(depth) FROM River[RANGE 1 HOUR]"
    assert partial_sizes(query, 60) == {"avgsum": 3, "avgcount": 1, "minmin": 2}  # 4 readings of 60 sites
    assert partial_sizes(query, 64) == {"avgsum": 4, "avgcount": 2, "minmin": 2}
    assert partial_sizes(query, 20_000) == {"avgsum": 4, "avgcount": 4, "minmin": 2}
    assert partial_sizes("SELECT SUM(depth * 1.0) FROM River[NOW]", 1) == {"sumsum": 4}


@given(size=st.integers(1, 3), rows=st.integers(1, 300))
def test_no_sum_or_count_outgrows_its_bytes(size: int, rows: int) -> None:
    """One value of each is spare, for NULL; what would need more than 4 bytes is a mote's overflow, and is counted there."""
    most = rows * 2 ** (8 * size - 1)
    taken = sum_size(size, rows)
    assert taken == 4 or (most < 2 ** (8 * taken - 1) and most - 1 < 2 ** (8 * taken - 1))
    assert rows < 2 ** (8 * count_size(rows)) - 1


def test_declared_widths_are_used() -> None:
    schema = "CREATE STREAM narrow (flag BOOLEAN, level INT(8), height FLOAT(32), total INT(64)) SENSED EVERY 1 MINUTE"
    plan = physical_plan("SELECT flag, level, height, total FROM narrow [NOW]", "default", schema)
    assert list(column_sizes(plan, None).values()) == [1, 1, 4, 8]
