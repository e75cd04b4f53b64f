"""How many rows an operator is given and gives: what all its cost models multiply by."""

from __future__ import annotations

from dataclasses import dataclass


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
