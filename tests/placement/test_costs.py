"""The cost models of every operator: durations and memory, against sums written out by hand."""

from __future__ import annotations

import pytest

from nilometer.placement import CostParameters, cost_parameters
from nilometer.placement.abilities import MOTE_OPERATORS
from nilometer.placement.costs.memory import memory
from nilometer.placement.costs.operators import count_atoms, duration
from nilometer.placement.costs.rows import Rows
from nilometer.placement.population import Population
from nilometer.placement.wire_format import COMPACT_FORMAT, SNEE_2010_FORMAT
from nilometer.plan import physical
from nilometer.types import MINUTE
from placement.scenarios import Q3, brook, physical_plan

EVERY = 15 * MINUTE
POPULATION = Population({}, EVERY)


def _costs(name: str = "snee-2010") -> CostParameters:
    return cost_parameters(brook(name).profile)


def _node(query: str, operator: str, profile: str = "snee-2010") -> physical.Node:
    plan = physical_plan(query, profile)
    return next(
        node
        for node in physical.walk_plan(plan)
        if node.operator == operator and not getattr(node, "elided", 0)
    )


AGGREGATE = "SELECT SUM(depth), MIN(rain) FROM River[RANGE 1 HOUR]"
JOIN = "SELECT COUNT(*) FROM River[NOW] r, Hilltop[NOW] h WHERE r.rain = h.rain"
ROWS = "SELECT depth FROM River[RANGE 10 ROWS SLIDE 5 ROWS]"
COMPUTED = "SELECT depth + rain * 2 AS x FROM River[NOW]"


@pytest.mark.parametrize(
    ("query", "operator", "rows", "milliseconds"),
    [
        # op = CallMethod + SignalEvent = 2.1, in all of them
        (Q3, "SP_ACQUIRE", Rows((), 1), 2.1 + 30 + 0.1 + 0.02 + 0.15),  # Hilltop, which has a predicate
        (Q3, "NL_JOIN", Rows((2, 3), 6), 2.1 + (0.1 + 0.15) * 2 * 3),
        (Q3, "PROJECT", Rows((6,), 6), 0.0),  # a projection list
        (Q3, "DELIVER", Rows((6,), 6), 2.1),
        (JOIN, "HASH_JOIN", Rows((2, 3), 6), 2.1 + (0.1 + 0.15) * 2 * 3),
        (AGGREGATE, "TIME_WINDOW", Rows((1,), 4), 2.1 + 0.1 + 0.02 + 0.05 * 4 + 0.02 * 4),
        (AGGREGATE, "AGGR_INIT", Rows((4,), 1), 2.1 + 0.1 + 0.05 * 4),
        (AGGREGATE, "AGGR_MERGE", Rows((3,), 1), 2.1 + 0.1 + 0.05 * 3),
        (AGGREGATE, "AGGR_EVAL", Rows((1,), 1), 2.1 + 0.1 + 0.05),
        (ROWS, "ROW_WINDOW", Rows((4,), 10), 2.1 + 0.1 * 4 + 0.02 * 10),
        (COMPUTED, "PROJECT", Rows((4,), 4), 2.1 + 0.1 * 4),
    ],
)
def test_durations(query: str, operator: str, rows: Rows, milliseconds: float) -> None:
    assert duration(_node(query, operator), rows, EVERY, _costs()) == pytest.approx(milliseconds)


def test_the_faults_of_the_code_behind_fig_22_are_kept_apart() -> None:
    join, rows = _node(Q3, "NL_JOIN"), Rows((2, 3), 6)
    assert duration(join, rows, EVERY, _costs(), paper=True) == pytest.approx(2.1 + 0.25 * 2 * 2)
    river = next(
        node
        for node in physical.walk_plan(physical_plan(Q3, "snee-2010"))
        if isinstance(node, physical.SpAcquire) and node.predicate is None
    )
    with_predicate = duration(river, Rows((), 1), EVERY, _costs(), paper=True)
    assert with_predicate - duration(river, Rows((), 1), EVERY, _costs()) == pytest.approx(0.15)


def test_eq_5_the_duration_of_an_acquisition_in_cycles() -> None:
    # D = SP_A_OVERHEAD + SENSE for each attribute + APPLY for each atom of the predicate and of the select list.
    costs = _costs("mica2")
    hilltop = _node(Q3, "SP_ACQUIRE")
    cycles = duration(hilltop, Rows((), 1), EVERY, costs) * costs.clock_rate / 1000
    assert cycles == pytest.approx(124 + 2542 + 8 + 3 * 8)


def test_memory() -> None:
    costs, wire = _costs(), SNEE_2010_FORMAT
    assert memory(_node(Q3, "SP_ACQUIRE"), Rows((), 1), POPULATION, costs, wire) == 12
    join = memory(_node(Q3, "NL_JOIN"), Rows((1, 4), 4), POPULATION, costs, wire)
    projection = memory(_node(Q3, "PROJECT"), Rows((4,), 4), POPULATION, costs, wire)
    assert join + projection == 48  # site 3 of the running example
    assert memory(_node(Q3, "TIME_WINDOW"), Rows((1,), 1), POPULATION, costs, wire) == 2 * 12
    assert memory(_node(Q3, "DELIVER"), Rows((4,), 4), POPULATION, costs, wire) == 0
    window = _node(AGGREGATE, "TIME_WINDOW", "default")
    assert memory(window, Rows((1,), 4), POPULATION, costs, COMPACT_FORMAT) == 4 * (1 + 2 + 2)


def test_atoms() -> None:
    join = _node(Q3, "NL_JOIN")
    assert isinstance(join, physical.NlJoin)
    assert count_atoms(join.predicate) == 1
    computed = _node(COMPUTED, "PROJECT")
    assert isinstance(computed, physical.Project)
    assert count_atoms(computed.items[0].expression) == 2
    assert count_atoms(None) == 0


def test_every_operator_of_a_mote_has_its_models() -> None:
    # What falls through to the general case has been thought of: nothing but these may.
    general = {physical.Exchange, physical.RStream, physical.Rename}
    covered = {
        type(node)
        for query in (
            Q3,
            AGGREGATE,
            JOIN,
            ROWS,
            COMPUTED,
            "SELECT depth FROM River[NOW] WHERE depth / 2 > rain",
        )
        for node in physical.walk_plan(physical_plan(query))
    }
    assert set(MOTE_OPERATORS) - covered - general <= {physical.Select}
