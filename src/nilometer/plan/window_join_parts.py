"""The parts of a window join, in both algebras: the bounds of its windows, its key pairs, and its memory."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.algebra import JoinKind, ShedPolicy
from nilometer.expressions import Expression


@dataclass(frozen=True)
class WindowBound:
    """|time of input `left` - time of input `right`| <= width."""

    left: int
    right: int
    width: int


def kept_for(kind: JoinKind, bounds: tuple[WindowBound, ...], port: int) -> int | None:
    """How long the tuples of an input of a WINDOW join wait for a partner before they come without one; None
    if they never do."""
    if kind is JoinKind.INNER or (kind is JoinKind.LEFT and port == 1):
        return None
    return min(bound.width for bound in bounds)


@dataclass(frozen=True)
class Memory:
    """The most rows that a join keeps of each input (None: all that the windows need), and which to drop
    first."""

    rows: tuple[int | None, ...]
    policy: ShedPolicy = ShedPolicy.RANDOM


@dataclass(frozen=True)
class KeyPair:
    """An equality between two inputs of an N-way join. `left_expression` reads only the input `left`, and
    `right_expression` only the input `right`."""

    left: int
    left_expression: Expression
    right: int
    right_expression: Expression


def tied(count: int, keys: tuple[KeyPair, ...]) -> bool:
    """Whether equalities connect every input with every other, directly or through others."""
    reached = {0}
    for _ in range(count):
        for key in keys:
            if key.left in reached or key.right in reached:
                reached |= {key.left, key.right}
    return len(reached) == count
