"""How many sites sense each source, and how often -> the most rows that an operator's input can have in one
evaluation.

A bounded value can be narrow: a count of at most 254 readings takes one byte, a sum of a few readings little
more than one reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nilometer.algebra import JoinKind
from nilometer.placement.sources import SourceKey, source_key
from nilometer.placement.volume import readings_covered
from nilometer.plan import physical


@dataclass(frozen=True)
class Population:
    """`sites`: how many sites sense each source. `interval`: microseconds between acquisitions."""

    sites: Mapping[SourceKey, int]
    interval: int

    def rows(self, node: physical.Node) -> int:
        """The most rows of one evaluation, over all sites together; looks through EXCHANGE."""
        match node:
            case physical.SpAcquire():
                return self.sites.get(source_key(node), 0)
            case physical.TimeWindow(input):
                return self.rows(input) * readings_covered(node, self.interval)
            case physical.RowWindow(input, start, end):
                return self.rows(input) if start is None else start - end + 1
            case physical.NlJoin() | physical.HashJoin():
                left = self.rows(node.left)
                if not node.kind.pairs:
                    return left
                right = self.rows(node.right)
                return max(left * right, left + right) if node.kind is JoinKind.FULL else left * right
            case physical.Union():
                return self.rows(node.left) + self.rows(node.right)
            case physical.Aggregate(keys=()) | physical.AggregateInit(keys=()):
                return 1
            case _:
                product = 1
                for child in node.inputs:
                    product *= self.rows(child)
                return product
