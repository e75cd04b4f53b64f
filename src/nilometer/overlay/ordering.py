"""By which equality a join of type 2 begins: the order of classes with the fewest intermediate tuples, as far as the rates
of its streams are known.

A join of inputs at rates r_i, each within a window of w seconds of the others, has about the product of the r_i, times
(2 w / VALUES) for each input but one, results a second: VALUES stands for the distinct values of a column.

>>> plan = JoinPlan.of(
...     [("X", ("B",)), ("Y", ("B", "C")), ("Z", ("C",))],
...     [((0, "B"), (1, "B")), ((1, "C"), (2, "C"))],
...     5_000_000,
... )
>>> order_of(plan, [100.0, 10.0, 1.0]), order_of(plan, [1.0, 10.0, 100.0])
((1, 0), (0, 1))
>>> order_of(plan, [1.0, 10.0, None])
()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from math import prod

from nilometer.overlay.join_plan import JoinPlan
from nilometer.types import SECOND

VALUES = 100
MOST_CLASSES = 6
"""More classes than these keep the plan's own order: there are too many orders to try."""


def order_of(plan: JoinPlan, rates: Sequence[float | None]) -> tuple[int, ...]:
    """The order, given the readings a second of each input; empty where one is not known, or there is no choice."""
    known = [rate for rate in rates if rate is not None]
    if plan.kind == 1 or len(known) < len(plan.inputs) or len(plan.classes) > MOST_CLASSES:
        return ()
    orders = permutations(range(len(plan.classes)))
    return min(orders, key=lambda order: _intermediate(replace(plan, order=order), known))


def _intermediate(plan: JoinPlan, rates: Sequence[float]) -> float:
    """The tuples a second that go on from one stage to the next."""
    partners = 2 * plan.reach / SECOND / VALUES
    total = 0.0
    joined: set[int] = set()
    for stage in plan.stages[:-1]:
        joined |= set(stage.members)
        total += prod(rates[at] for at in joined) * partners ** (len(joined) - 1)
    return total
