"""Prediction of spectra that are still to come (STEAM, section 7.3), and of the bursts that are left to a decision.

Each bin's rate has a Gamma prior with the background's rate as its mean, which weighs as much as PRIOR seconds of counts.
Counts are Poisson, so after t seconds with counts n the posterior is a Gamma again, and its mean is

    (PRIOR b + n) / (PRIOR + t)        counts a second in the next bursts

How many bursts are left depends on the evidence for the best class, which the test moves on by chance. The horizon is the
mean over many boxes that are drawn from the half to learn from: half of them background, the others of all classes and
amplitudes alike. `upcoming` and `waiting` in examples/baggage are the same as views.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.laboratory.baggage.decisions import LONGEST
from nilometer.laboratory.baggage.spectra import BACKGROUND_RATE, Halves, Vector
from nilometer.laboratory.baggage.templates import AMPLITUDES, BOUND, Templates, evidence

PRIOR = 10.0
"""Seconds of background that the prior is worth. Of 1, 3, 10, 30 and 100 it predicts the measured spectra best; with 1, noise
in single bins makes the prediction worse than background alone."""
STEP = 0.5
"""The width of a stretch of evidence that has one mean."""
LEAST = 30
"""A stretch that fewer bursts have met has the mean of its neighbours, too."""


def predicted(counts: Vector, seconds: float, background: Vector) -> Vector:
    """The counts a second to be expected: the posterior's mean."""
    found: Vector = (PRIOR * background + counts) / (PRIOR + seconds)
    return found


@dataclass(frozen=True)
class Bursts:
    """One row for each burst after which a box was undecided: the burst, the evidence then, and the bursts that it still
    took."""

    burst: Vector
    evidence: Vector
    left: Vector


def undecided(
    test: Templates, background: Vector, shapes: Vector, boxes: int, random: np.random.Generator
) -> Bursts:
    """Draw boxes, half of them with a class and an amplitude, and follow them to their decisions."""
    classes = len(test.labels)
    labels, strengths = random.integers(0, classes, boxes), random.choice(AMPLITUDES, boxes)
    strengths *= random.random(boxes) < 0.5
    rates = background + BACKGROUND_RATE * strengths[:, None] * shapes[labels]
    ratios, open_ = np.zeros((boxes, len(test.rates))), np.arange(boxes)
    ends = np.full(boxes, LONGEST)
    met: list[tuple[np.ndarray, int, np.ndarray]] = []
    for burst in range(1, LONGEST + 1):
        ratios[open_] += random.poisson(rates[open_]) @ test.weights.T - test.rates
        for_class, for_any = evidence(ratios[open_], classes)
        best = for_class.max(axis=1)
        over = (for_any >= BOUND) | (best <= -BOUND)
        ends[open_[over]] = burst
        open_ = open_[~over]
        if not len(open_):
            break
        met.append((open_, burst, best[~over]))
    return Bursts(
        np.concatenate([np.full(len(which), float(burst)) for which, burst, _ in met]),
        np.concatenate([best for _, _, best in met]),
        np.concatenate([(ends[which] - burst).astype(np.float64) for which, burst, _ in met]),
    )


@dataclass(frozen=True)
class Horizon:
    """Mean bursts left, for evidence in [edges[k], edges[k + 1])."""

    edges: Vector
    bursts: Vector

    def at(self, evidence_: Vector) -> Vector:
        """The bursts to be expected at this evidence."""
        places = np.searchsorted(self.edges, evidence_, side="right") - 1
        found: Vector = self.bursts[np.clip(places, 0, len(self.bursts) - 1)]
        return found


def horizon(test: Templates, both: Halves, worlds: int = 10, boxes: int = 500) -> Horizon:
    """Learned from the half to learn from; the seed is fixed.

    Boxes do not emit the very spectra that were learned, which are a sample themselves. So they are drawn from other samples
    of the same measurement, as it would have them: Poisson counts at rates from the Gamma posterior of what was learned.
    """
    random = np.random.default_rng(23)
    parts = []
    for _ in range(worlds):
        shapes = np.array([_another(both.learned[label], random) for label in both.labels])
        background = BACKGROUND_RATE * _another(both.background_learned, random)
        parts.append(undecided(test, background, shapes, boxes, random))
    met = Bursts(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("burst", "evidence", "left"))
    )
    low, high = -np.ceil(BOUND / STEP), np.ceil((BOUND + np.log(len(test.labels))) / STEP)
    edges = STEP * np.arange(low, high + 1)
    places = np.clip(np.searchsorted(edges, met.evidence, side="right") - 1, 0, len(edges) - 2)
    means = np.empty(len(edges) - 1)
    for place in range(len(means)):
        reach = 0
        while (near := np.abs(places - place) <= reach).sum() < min(LEAST, len(places)):
            reach += 1
        means[place] = met.left[near].mean()
    return Horizon(edges, means)


def _another(counts: Vector, random: np.random.Generator) -> Vector:
    """The shape that another measurement as long as this one would have."""
    drawn = random.poisson(random.gamma(np.maximum(counts, 0.0))).astype(np.float64)
    shape: Vector = drawn / max(drawn.sum(), 1.0)
    return shape
