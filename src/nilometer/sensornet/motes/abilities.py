"""Why our mote runtime cannot run an operator that a mote could run, so that the gateway runs it.

`placement.abilities` says what any mote can do. Our programs do less: they leave AGGR_EVAL to the gateway
(`finishing`), they keep windows only over what their own site acquires, and their numbers have 32 bits.
"""

from __future__ import annotations

from nilometer.errors import UnsupportedError
from nilometer.placement.abilities import Ability, why_not_on_a_mote
from nilometer.placement.population import Population
from nilometer.placement.sources import Sources
from nilometer.plan import physical
from nilometer.sensornet.motes.converters import Converters
from nilometer.sensornet.motes.fields import Typing, is_deferred
from nilometer.sensornet.motes.scalars import NOW, conditions_of, is_true
from nilometer.sensornet.motes.values import TIME_FIELD, Value

MOST = 255
"""One byte counts the readings of a window, and the evaluations that its SLIDE skips."""

_ROW_BY_ROW = (physical.AggregateEvaluate, physical.Project, physical.Select, physical.Rename)
"""AGGR_EVAL, and the operators that can follow it at the gateway row by row."""


def our_runtime(converters: Converters | None = None) -> Ability:
    """The abilities of programs whose sensed columns have these scales."""

    def why_not(node: physical.Node, sources: Sources) -> str | None:
        population = Population(
            {key: len(sites) for key, sites in sources.sensed_at.items()}, sources.interval
        )
        typing = Typing(population, MOST - 1, converters or {})
        return why_not_on_a_mote(node, sources) or _structure(node, typing) or _numbers(node, typing)

    return why_not


def _structure(node: physical.Node, typing: Typing) -> str | None:
    below = [under for child in node.inputs for under in physical.walk_plan(child)]
    late = any(isinstance(under, physical.AggregateEvaluate) for under in below)
    if late and not isinstance(node, (*_ROW_BY_ROW, physical.Deliver)):
        return "motes leave the last step of aggregates to the gateway"
    match node:
        case physical.RStream():
            return "motes make no stream of windows"
        case physical.TimeWindow(slide=slide):
            if not _is_acquired(node.input):
                return "motes keep windows of what they acquire, and of nothing else"
            if max(typing.ages(node).stop, (slide or 0) // typing.interval) > MOST:
                return f"motes count at most {MOST} readings of a window"
        case physical.RowWindow(start=start, slide=slide) if max(start or 0, slide) >= MOST:
            return f"motes count at most {MOST} rows of a window"
        case physical.NlJoin() | physical.HashJoin():
            windows = [under for under in below if isinstance(under, physical.TimeWindow)]
            slides = any(window.slide not in (None, typing.interval) for window in windows)
            if slides or any(isinstance(under, physical.RowWindow) for under in below):
                return "motes join windows that are evaluated at every acquisition"
    return None


def _is_acquired(node: physical.Node) -> bool:
    while isinstance(node, physical.Select | physical.Project | physical.Rename):
        node = node.inputs[0]
    return isinstance(node, physical.SpAcquire)


def _numbers(node: physical.Node, typing: Typing) -> str | None:
    """Why a number that the operator computes or tests has no type in C; None if all have one. Acquired
    columns are checked elsewhere, because no other host could acquire them."""
    if isinstance(node, physical.SpAcquire) or is_deferred(node):
        return None
    try:
        typing.fields(node)
        for condition in conditions_of(node):
            fields = [item for child in node.inputs for item in typing.fields(child).items()]
            row = {name: Value(name, field, "0" if field.nullable else None) for name, field in fields}
            is_true(condition, row | {NOW: Value(NOW, TIME_FIELD)})
    except UnsupportedError as error:
        return error.message
    return None
