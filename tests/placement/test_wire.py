"""Tuples and packets: layouts, and packing against putting one tuple after the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.placement import Flow, Placement, Transfer
from nilometer.placement.packets import loads_of, packets_for
from nilometer.placement.tuple_layout import column_sizes, derived_times, tuple_layout
from nilometer.placement.wire_format import COMPACT_FORMAT, SNEE_2010_FORMAT
from nilometer.plan import physical
from nilometer.types import MINUTE
from placement.scenarios import Q3, physical_plan, placed
from placement.valid_agenda import packets_one_by_one


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
    padded = tuple_layout(river, SNEE_2010_FORMAT)
    assert padded.size == 16
    assert [(field.name, field.offset, field.size) for field in padded.fields] == [
        ("@evaluation", 0, 4),
        ("River.time", 4, 4),
        ("River.id", 8, 2),
        ("River.rain", 10, 2),
        ("River.depth", 12, 2),
    ]
    packed = tuple_layout(river, COMPACT_FORMAT)
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


def test_sums_are_wider_than_their_terms() -> None:
    plan = physical_plan("SELECT SUM(depth), MIN(depth), COUNT(*), AVG(depth) FROM River[NOW]")
    initial = next(node for node in physical.walk_plan(plan) if isinstance(node, physical.AggregateInit))
    sizes = {
        name.partition("#")[0][:3] + name.partition("#")[2]: size
        for name, size in column_sizes(initial).items()
    }
    assert sizes == {"sumsum": 4, "minmin": 2, "coucount": 2, "avgsum": 4, "avgcount": 2}


def test_declared_widths_are_used() -> None:
    schema = "CREATE STREAM narrow (flag BOOLEAN, level INT(8), height FLOAT(32), total INT(64)) SENSED EVERY 1 MINUTE"
    plan = physical_plan("SELECT flag, level, height, total FROM narrow [NOW]", "default", schema)
    assert list(column_sizes(plan).values()) == [1, 1, 4, 8]
