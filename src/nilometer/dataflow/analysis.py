"""What each node of a plan did in a running dataflow: rows in and out, time, state. The numbers of EXPLAIN ANALYZE.

A node is a stage, a transform fused behind one, or part of the operator above it (a window below its aggregate);
only the first two have numbers of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nilometer.dataflow.dataflow import Dataflow
from nilometer.plan import physical
from nilometer.types import format_bytes


@dataclass(frozen=True)
class Measure:
    """The work of one node. `held` is the size of its state in bytes, where it was measured; None: no state."""

    rows_in: int
    rows_out: int
    nanoseconds: int
    rounds: int
    held: int | None = None


@dataclass(frozen=True)
class Work:
    """The computing of one query since its process began. Operators that it shares with `others` count with its part."""

    nanoseconds: float = 0.0
    others: int = 0


def measures(
    flow: Dataflow, plan: physical.Node, held: Mapping[int, int] | None = None
) -> dict[physical.Node, Measure]:
    """The work of the plan's nodes. `held` has the size of the stages' states, by place."""
    found = {}
    for node in physical.walk_plan(plan):
        if node in flow.origins:
            measure = _measure(flow, node, held or {})
            if measure is not None:
                found[node] = measure
    return found


def state_sizes(flow: Dataflow, places: Iterable[int] | None = None) -> dict[int, int]:
    """The bytes of the state of stages now (default: of all), by place; a stage without state is left out."""
    looked = flow.stages if places is None else places
    sizes = {place: sum(map(len, flow.stages[place].worker.snapshot().values())) for place in looked}
    return {place: size for place, size in sizes.items() if size}


def _measure(flow: Dataflow, node: physical.Node, held: Mapping[int, int]) -> Measure | None:
    place, last = flow.origins[node]
    meters = flow.stages[place].meters[: last + 1]
    # The transforms of the nodes below that are fused into the same stage are theirs.
    below = [flow.origins[child] for child in node.inputs if child in flow.origins]
    first = max((count + 1 for where, count in below if where == place), default=0)
    own = meters[first:]
    if not own:
        return None
    return Measure(
        own[0].rows_in,
        own[-1].rows_out,
        sum(meter.nanoseconds for meter in own),
        own[-1].rounds,
        held.get(place) if first == 0 else None,
    )


def remark(found: Measure, inputs: int = 1) -> str:
    """`1,000 -> 10 rows (1 %), 0.3 ms, 2.1 kB held`. A node with several inputs has no share of rows that pass."""
    passed, given = found.rows_out, found.rows_in
    rows = "1 row" if passed == 1 else f"{passed:,} rows"
    if passed != given:
        rows = f"{given:,} -> {rows}"
        rows += f" ({100 * passed / given:,.3g} %)" if inputs < 2 and given else ""
    held = "" if found.held is None else f", {format_bytes(found.held)} held"
    return f"{rows}, {found.nanoseconds / 1e6:,.1f} ms{held}"
