"""Many boxes through the sequential test at once: bursts of a second, drawn from a spectrum -> decisions.

The same test as the views of `examples/baggage`, as products of matrices: ten thousand boxes would be millions of
joined rows. `reproductions/idhm.py` checks that both decide alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.laboratory.baggage.spectra import Vector
from nilometer.laboratory.baggage.templates import BOUND, Templates, evidence

LONGEST = 60
"""The longest exposure, in bursts; a box that is undecided then is referred to a person."""


@dataclass(frozen=True)
class Decided:
    """For each box: 1 hazard, -1 safe, 0 refer; the burst at which it was decided; the class with most evidence."""

    decision: npt.NDArray[np.int64]
    bursts: npt.NDArray[np.int64]
    label: npt.NDArray[np.int64]


def decide(
    templates: Templates, rates: Vector, boxes: int, random: np.random.Generator, longest: int = LONGEST
) -> Decided:
    """Draw bursts of a second at these rates per bin until each box is decided."""
    classes = len(templates.labels)
    decision, label = np.zeros(boxes, dtype=np.int64), np.full(boxes, -1)
    bursts = np.full(boxes, longest)
    ratios = np.zeros((boxes, len(templates.rates)))
    open_ = np.arange(boxes)
    for burst in range(1, longest + 1):
        counts = random.poisson(rates, (len(open_), len(rates))).astype(np.float64)
        ratios[open_] += counts @ templates.weights.T - templates.rates
        for_class, for_any = evidence(ratios[open_], classes)
        hazard, safe = for_any >= BOUND, for_class.max(axis=1) <= -BOUND
        decision[open_] = np.where(hazard, 1, np.where(safe, -1, 0))
        label[open_] = for_class.argmax(axis=1)
        over = hazard | safe
        bursts[open_[over]] = burst
        open_ = open_[~over]
        if not len(open_):
            break
    return Decided(decision, bursts, label)
