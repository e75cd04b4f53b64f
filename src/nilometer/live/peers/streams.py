"""The stream of the results of a join among gateways."""

from __future__ import annotations

from nilometer.catalog import Stream, stream_columns
from nilometer.catalog.peer_streams import FUTURE, RESULTS
from nilometer.overlay.join_plan import JoinPlan
from nilometer.plan import physical
from nilometer.types import INT, MINUTE, Column


def results_stream(query: str, node: physical.WindowJoin, plan: JoinPlan, slack: int) -> Stream:
    """The stream of a join's results. Its KEY are the positions of the members: a result that peers send twice is one.

    Results come in no order: an evaluation above them waits as long as a member, or a result, may be late.
    """
    leaves = [leaf for leaf in node.streams if isinstance(leaf, physical.SpAcquire)]
    positions = tuple(Column(f"p{at}", INT) for at in range(len(plan.inputs)))
    values = tuple(Column(f"c{at}", column.type.plain, column.unit) for at, column in enumerate(node.schema))
    return Stream(
        f"overlay_{query}",
        stream_columns(positions + values, INT),
        url=f"{RESULTS}{query}",
        delay=max(leaf.stream.delay for leaf in leaves) + plan.reach + slack + MINUTE,
        key=tuple(column.name for column in positions),
        future=FUTURE,
    )
