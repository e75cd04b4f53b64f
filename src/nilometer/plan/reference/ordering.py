"""Orders and limits rows: ORDER BY and LIMIT of bags, and LIMIT of a stream.

The rows of a bag come by the keys, and rows that tie in a key by the next one. NULLs come last unless the key
says otherwise. A stream's tuples are counted in the order (time, id, position); tuples at W or later wait,
because an earlier one may still arrive.
"""

from __future__ import annotations

from collections.abc import Sequence

from nilometer.plan.logical import Limit, Sort
from nilometer.plan.reference.bags import Bag
from nilometer.plan.reference.rows import Row, Values, order_key, stream_order
from nilometer.plan.scalar import evaluate


def ordered(node: Sort, bag: Bag, now: int | None) -> list[Values]:
    """The rows of a bag in the order of the keys, without those that OFFSET and LIMIT leave out."""
    rows = list(bag)
    for key in reversed(node.keys):  # a stable sort by the last key first
        values = [evaluate(key.expression, row, now) for row in rows]
        some = [place for place, value in enumerate(values) if value is not None]
        some.sort(key=lambda place: order_key(values[place]), reverse=key.descending)
        none = [place for place, value in enumerate(values) if value is None]
        rows = [rows[place] for place in (none + some if key.nulls_first else some + none)]
    return rows[node.offset :] if node.limit is None else rows[node.offset : node.offset + node.limit]


def limited(node: Limit, rows: Sequence[Row], watermark: int) -> list[Row]:
    """The tuples below W from number OFFSET on, at most LIMIT of them."""
    complete = sorted((row for row in rows if row.tick < watermark), key=stream_order)
    return complete[node.offset :] if node.limit is None else complete[node.offset : node.offset + node.limit]
