"""Estimates which share of the results a join with bounded memory finds, as lines for EXPLAIN.

The estimate is DHTJoin's equation (11) over the declared rates (sensors, EVERY or EXPECT EVERY, and SNEE's
selectivities for the filters below). SAMPLE finds less in few rows, for which there is an estimate, too. A tuple is kept for the widest window that reaches it plus the greatest
DELAY, because the watermark lags by that much.
"""

from __future__ import annotations

from itertools import combinations

from nilometer.algebra import ShedPolicy
from nilometer.expressions import conjuncts
from nilometer.kernels.join_completeness import (
    completeness,
    kept_shares,
    probing_completeness,
    sampled_completeness,
)
from nilometer.kernels.window_bounds import implied_widths
from nilometer.optimizer.cardinality import cardinality
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.equalities import equality_between
from nilometer.plan.logical import Acquire, Node, WindowJoin, walk_plan
from nilometer.plan.window_join_parts import Memory
from nilometer.types import SECOND, format_duration


def memory_notes(plan: Node, context: OptimizerContext) -> list[str]:
    """A few lines for each join of the plan whose memory is bounded."""
    return [
        line
        for node in walk_plan(plan)
        if isinstance(node, WindowJoin) and node.memory is not None
        for line in _notes(node, node.memory, context)
    ]


def _notes(join: WindowJoin, memory: Memory, context: OptimizerContext) -> list[str]:
    windows = [window / SECOND for window in _kept_for(join)]
    rates = [_rate(stream, context) for stream in join.streams]
    lines = []
    for port, (rows, window, rate) in enumerate(zip(memory.rows, windows, rates, strict=True)):
        needed = "of no declared rate" if rate is None else f"of {window * rate:,.0f} in the window"
        kept = "all rows" if rows is None else f"{rows:,} rows"
        lasting = format_duration(round(window * SECOND))
        whole = "" if rows is None else f"; enough for {rows / window:,.3g} rows/s" if window else ""
        lines.append(f"memory of input {port}: {kept} {needed} ({lasting}){whole}")
    if memory.policy in (ShedPolicy.PROB, ShedPolicy.LIFE) and not _equalities(join):
        lines.append(
            f"{memory.policy} counts what must be equal, and no equality ties the streams: the newest are kept"
        )
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        lines.append("completeness: not known without the rate of every stream; EXPECT EVERY declares one")
        return lines
    shares = ", ".join(f"{share:.1%}" for share in kept_shares(memory.rows, windows, known))
    least = completeness(memory.rows, windows, known)
    if memory.policy is ShedPolicy.SAMPLE:
        found = sampled_completeness(memory.rows, windows, known)
        cost = (
            f"{found:.1%}, as a sample overflows a bounded memory at times; without that "
            if found < least
            else ""
        )
        lines.append(f"completeness: {cost}{least:.1%} (DHTJoin, equation 11); kept of the streams: {shares}")
        return lines
    found = probing_completeness(memory.rows, windows, known)
    better = "" if memory.policy is ShedPolicy.RANDOM else f" if {memory.policy} were no better than RANDOM"
    lines.append(
        f"completeness: {found:.1%}{better}, at least {least:.1%} (DHTJoin, equation 11); kept of the streams: {shares}"
    )
    return lines


def _equalities(join: WindowJoin) -> bool:
    """Whether there is an equality between two streams, whose values' frequencies could be counted."""
    return any(
        equality_between(condition, left, right) is not None
        for condition in conjuncts(join.predicate)
        for left, right in combinations(join.streams, 2)
    )


def _kept_for(join: WindowJoin) -> list[int]:
    """How long a tuple of each stream is kept, in microseconds."""
    bounds = [(bound.left, bound.right, bound.width) for bound in join.bounds]
    delay = max((node.stream.delay for node in walk_plan(join) if isinstance(node, Acquire)), default=0)
    return [int(width) + delay for width in implied_widths(len(join.streams), bounds).max(axis=1)]


def _rate(stream: Node, context: OptimizerContext) -> float | None:
    """Rows per second; None if a stream below has no declared and no measured rate."""
    leaves = [node for node in walk_plan(stream) if isinstance(node, Acquire)]
    intervals = [context.interval(leaf.stream) for leaf in leaves]
    if not intervals or any(interval is None for interval in intervals):
        return None
    return cardinality(stream, context) * SECOND / min(interval for interval in intervals if interval)
