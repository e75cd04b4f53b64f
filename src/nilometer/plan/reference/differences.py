"""Windows to streams: RSTREAM, ISTREAM and DSTREAM.

ISTREAM and DSTREAM are multiset differences to the previous evaluation, the first one's being empty, over the values
of the select list: NULL equals NULL, the tick does not count.
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
    """The rows that each evaluation emits, with time = tick = T, no source and no position."""
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
    """The multiset difference: every row of `less` takes one equal row away."""
    taken: Counter[Any] = Counter(freeze(values) for values in less)
    rest = []
    for values in bag:
        if taken[freeze(values)] > 0:
            taken[freeze(values)] -= 1
        else:
            rest.append(values)
    return rest
