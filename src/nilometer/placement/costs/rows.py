"""How many rows an operator is given and gives: what all its cost models multiply by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from nilometer.plan import physical


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one evaluation: of each input, and of the output; in how many windows they are. The most that can be, or
    what there is on average (`mean_volume`)."""

    inputs: tuple[float, ...]
    output: float
    windows: float = 1

    @property
    def all_in(self) -> float:
        """The rows of all inputs together."""
        return sum(self.inputs)


class HasRows(Protocol):
    """A volume, the most or the mean."""

    @property
    def rows(self) -> float:
        """Of an evaluation."""

    @property
    def windows(self) -> float:
        """That they are in."""


V = TypeVar("V", bound=HasRows)


def operator_rows(
    root: physical.Node, fed: Iterable[V], given: Callable[[physical.Node, tuple[V, ...]], V]
) -> list[tuple[physical.Node, Rows]]:
    """The operators from `root` down to what feeds them, inputs first, each with its rows. `fed` is what comes in by each EXCHANGE,
    left to right; `given` says what an operator gives for what its inputs give."""
    found: list[tuple[physical.Node, Rows]] = []
    volumes = iter(fed)

    def visit(node: physical.Node) -> V:
        if isinstance(node, physical.Exchange):
            return next(volumes)
        below = tuple(visit(child) for child in node.inputs)
        volume = given(node, below)
        found.append((node, Rows(tuple(each.rows for each in below), volume.rows, volume.windows)))
        return volume

    visit(root)
    return found
