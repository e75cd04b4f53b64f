"""The number of rows that enter and leave an operator: the factor in all its cost models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from nilometer.plan import physical


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one evaluation: of each input and of the output, and in how many windows they are. Either
    the most that are possible, or the mean (`mean_volume`)."""

    inputs: tuple[float, ...]
    output: float
    windows: float = 1

    @property
    def all_in(self) -> float:
        """The rows of all inputs together."""
        return sum(self.inputs)


class HasRows(Protocol):
    """A volume, either the most or the mean."""

    @property
    def rows(self) -> float:
        """The rows of an evaluation."""

    @property
    def windows(self) -> float:
        """The number of windows that hold them."""


V = TypeVar("V", bound=HasRows)


def operator_rows(
    root: physical.Node, fed: Iterable[V], given: Callable[[physical.Node, tuple[V, ...]], V]
) -> list[tuple[physical.Node, Rows]]:
    """The operators from `root` down to their inputs, inputs first, each with its rows. `fed` is the volume
    that each EXCHANGE brings, left to right; `given` computes an operator's output from its inputs'
    outputs."""
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
