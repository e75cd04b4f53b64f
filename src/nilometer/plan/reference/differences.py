"""Turns windows into streams: RSTREAM, ISTREAM and DSTREAM.

ISTREAM and DSTREAM are multiset differences to the previous evaluation; before the first evaluation there is
an empty one. They compare the values of the select list: NULL equals NULL, and the tick does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from nilometer.algebra import Relation
from nilometer.plan.logical import ToStream
from nilometer.plan.reference.bags import Bag
from nilometer.plan.reference.rows import Evaluation, Row, Values, freeze


def to_stream(node: ToStream, evaluations: Sequence[Evaluation]) -> list[Row]:
    """The rows that each evaluation emits, with time = tick = T, and neither source nor position."""
    rows = []
    previous: Bag = ()
    for evaluation in evaluations:
        match node.relation:
            case Relation.RSTREAM:
                emitted = list(evaluation.bag)
            case Relation.ISTREAM:
                emitted = difference(evaluation.bag, previous)
            case Relation.DSTREAM:
                emitted = difference(previous, evaluation.bag)
        rows += [Row(evaluation.tick, evaluation.tick, None, None, values) for values in emitted]
        previous = evaluation.bag
    return rows


def difference(bag: Bag, less: Bag) -> list[Values]:
    """The multiset difference: every row of `less` removes one equal row."""
    taken: Counter[Any] = Counter(freeze(values) for values in less)
    rest = []
    for values in bag:
        if taken[freeze(values)] > 0:
            taken[freeze(values)] -= 1
        else:
            rest.append(values)
    return rest
