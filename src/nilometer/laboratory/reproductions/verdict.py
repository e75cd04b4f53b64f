"""One rule that compares a figure of ours with the paper's and gives a verdict.

    the same         equal, where a figure is exact
    the same shape   the order is right at every size, and every ratio that the paper prints is met
    the same order   the right winner, where the paper names one, and no more
    missed           not even that

A ratio is met if ours is within a factor of 2 of the paper's, and so is its logarithm: 1.02 does not
reproduce 1.43, whose effect is eighteen times as large. A ratio within a tenth of 1 says that two things are
alike; then ours must be as near to 1.

>>> [Ratio("updates over MJoin", 1.43, ours).met for ours in (1.02, 1.25, 1.7, 2.5)]
[False, True, True, False]
>>> (
...     Ratio("delay over the tree", 0.64, 0.9).met,
...     Ratio("kJ a node", 1.0, 1.05).met,
...     Ratio("probes left", 0.2, None).met,
... )
(False, True, False)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

FACTOR = 2.0
ALIKE = math.log(1.1)


class Verdict(StrEnum):
    """How a figure of ours compares with the paper's."""

    SAME = "the same"
    SHAPE = "the same shape"
    ORDER = "the same order"
    MISSED = "missed"
    HOLDS = "the paper has no figure; what we claim holds"


@dataclass(frozen=True)
class Ratio:
    """A ratio in the paper's words, the value that the paper prints, and ours (None: there is nothing to
    divide)."""

    what: str
    paper: float
    ours: float | None

    @property
    def met(self) -> bool:
        """Whether ours is near enough."""
        if self.ours is None or not (math.isfinite(self.ours) and self.ours > 0):
            return False
        wanted, found = math.log(self.paper), math.log(self.ours)
        if abs(wanted) <= ALIKE:
            return abs(found) <= ALIKE
        return abs(found - wanted) <= math.log(FACTOR) and 1 / FACTOR <= found / wanted <= FACTOR

    def __str__(self) -> str:
        ours = "none" if self.ours is None else f"{self.ours:.3g}"
        return f"{self.what}: paper {self.paper:.3g}, ours {ours}{'' if self.met else ' (not met)'}"


Figure = dict[str, Any]
"""A figure as it is printed, or written as JSON."""


def exact(paper: str, ours: str, same: bool, data: Any = None) -> Figure:
    """A figure that is equal or not."""
    return _figure(paper, ours, Verdict.SAME if same else Verdict.MISSED, (), data)


def measured(
    paper: str,
    ours: str,
    *,
    wins: bool,
    everywhere: bool,
    ratios: Sequence[Ratio] = (),
    data: Any = None,
) -> Figure:
    """A figure of measurements. `wins` says whether the winner is right where the paper names one, usually at
    the largest size. `everywhere` says whether the order is right at every size. Both together are reported
    as `ordered`."""
    verdict = Verdict.ORDER if wins else Verdict.MISSED
    if wins and everywhere and all(ratio.met for ratio in ratios):
        verdict = Verdict.SHAPE
    return _figure(paper, ours, verdict, ratios, data) | {"ordered": wins and everywhere}


def claimed(paper: str, ours: str, holds: bool, data: Any = None) -> Figure:
    """A claim for which the paper has no figure."""
    return _figure(paper, ours, Verdict.HOLDS if holds else Verdict.MISSED, (), data)


def _figure(paper: str, ours: str, verdict: Verdict, ratios: Sequence[Ratio], data: Any) -> Figure:
    told = [{"what": r.what, "paper": r.paper, "ours": r.ours, "met": r.met, "text": str(r)} for r in ratios]
    figure = {"paper": paper, "ours": ours, "verdict": str(verdict), "ratios": told}
    return figure if data is None else figure | {"data": data}


def quotient(one: float, other: float) -> float | None:
    """The quotient; None if there is nothing to divide by.

    >>> quotient(3, 2), quotient(3, 0)
    (1.5, None)
    """
    return one / other if other else None


def rises(values: Sequence[float]) -> bool:
    """Whether no value is less than the one before it.

    >>> rises([1, 1, 2]), rises([2, 1])
    (True, False)
    """
    return all(one <= other for one, other in pairwise(values))
