"""What each operator of a query on Spark did: rows in and out, and time, summed over tasks and buckets.

The numbers travel with the counters of a micro-batch (counts.py), under keys such as `1.2.in`: the fragment, the operator's
place in its plan, and what is counted.

    fragment 1 (stage 1, 16 buckets) -> answer  -- 3.2 kB held
      DELIVER [TICK]  -- 20 rows, 1.3 ms
        AGGR [BY R.id; AVG(R.depth) AS depth]  -- 600 -> 20 rows (3.33 %), 4.1 ms
"""

from __future__ import annotations

from collections.abc import Mapping

from nilometer.dataflow.analysis import Measure, measures, remark
from nilometer.dataflow.dataflow import Dataflow
from nilometer.plan import physical
from nilometer.plan.explain.text import PlanNode
from nilometer.spark.layout.fragments import Fragment, Layout
from nilometer.spark.layout.text import text_of
from nilometer.types import format_bytes

WHAT = ("in", "out", "ns")


def work_of(number: int, flow: Dataflow, plan: physical.Node) -> dict[str, int]:
    """The counters of a fragment's flow so far, by key."""
    found = measures(flow, plan)
    counted: dict[str, int] = {}
    for place, node in enumerate(physical.walk_plan(plan)):
        measure = found.get(node)
        if measure is not None:
            values = (measure.rows_in, measure.rows_out, measure.nanoseconds)
            counted |= {f"{number}.{place}.{what}": value for what, value in zip(WHAT, values, strict=True)}
    return counted


def since(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """The counts between two looks."""
    return {key: value - before.get(key, 0) for key, value in now.items()}


def work_text(layout: Layout, work: Mapping[str, int], held: Mapping[str, int]) -> str:
    """The layout of a query with the work of each operator, and the state of each fragment in the last micro-batch."""

    def note(fragment: Fragment, node: PlanNode) -> str | None:
        place = next(at for at, one in enumerate(physical.walk_plan(fragment.plan)) if one == node)
        values = [work.get(f"{fragment.number}.{place}.{what}") for what in WHAT]
        if all(value is None for value in values):
            return None
        rows_in, rows_out, nanoseconds = (value or 0 for value in values)
        return remark(Measure(rows_in, rows_out, nanoseconds, 0), inputs=len(node.inputs))

    def of_fragment(fragment: Fragment) -> str | None:
        size = held.get(str(fragment.number))
        return None if size is None else f"{format_bytes(size)} held"

    return text_of(layout, note, of_fragment)
