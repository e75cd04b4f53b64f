"""Relevance feedback: learns from notes how relevant every head is to the tuples of every hash bucket (SNJoin
section 6, Definition 2, Fig. 6).

For a bucket, a note tells how many probes each head answered and in how many it had a match: w_i is the
share. An entry moves by rate * (w_i - reference), where the paper's reference is the mean of the noted
shares. This implementation differs from the paper (reference/algorithms.md 1.4 d, e):

- Entries are limited to [0, 1]. The literal sum has no bounds: 200 notes took it to +117 and -83.
- A note names the probed heads without a match. Otherwise no head would ever lose relevance.
- A share is of the probes that the head got. Shares of all output tuples would hold back heads that are
  rarely probed.
- The reference is held between two bounds. With the bare mean a note changes nothing if all heads matched, or
  none, or if it names one head only, so that a head once dropped would not come back. The bounds (0, 1) give
  the paper's rule.

So a head whose share exceeds the upper bound by d is at 1 after at most 1 / (rate * d) notes, and one that
matches nothing is at 0 after at most 1 / (rate * lower bound): `notes_to_regain`, `notes_to_lose`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.kernels.stable_hash import hash_words
from nilometer.sensornet.snjoin.readings import Values


@dataclass(frozen=True, slots=True)
class EveryHead:
    """Every tuple probes every head. The answer is complete, and no notes are sent."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """How relevance is learned and used.

    `base` is the initial value of entries (section 6: 50 %). A head is probed with the probability of its
    entry, but at least `floor`, independently of the others. With a `length`, that number of heads is drawn
    without replacement by their entries (roulette). Definition 3 divides by the sum of the entries: that is
    the roulette with a length of 1.
    """

    buckets: int = 64
    base: float = 0.5
    rate: float = 1.0
    floor: float = 0.02
    least_reference: float = 0.05
    greatest_reference: float = 0.5
    length: int | None = None

    def __post_init__(self) -> None:
        bounds = 0 <= self.least_reference <= self.greatest_reference <= 1
        if not (
            bounds and self.buckets >= 1 and 0 <= self.base <= 1 and 0 <= self.floor <= 1 and self.rate > 0
        ):
            raise ConfigurationError(
                "feedback with impossible parameters",
                detail=str(self),
                hint="base, floor and the bounds of the reference are probabilities; rate and buckets are positive",
            )
        if self.length is not None and self.length < 1:
            raise ConfigurationError("a roulette that draws no head", hint="give a length of 1 or more")

    def notes_to_regain(self, share: float = 1.0) -> int:
        """The most notes until a head that matches in this share of its probes is at 1 again."""
        if share <= self.greatest_reference:
            raise ConfigurationError(
                f"a share of {share} need not rise",
                hint=f"only shares above {self.greatest_reference} are sure to",
            )
        return math.ceil(1 / (self.rate * (share - self.greatest_reference)) - 1e-9)

    def notes_to_lose(self) -> int:
        """The most notes until a head that matches nothing is at 0."""
        if self.least_reference == 0:
            raise ConfigurationError("without a least reference nobody is sure to lose relevance")
        return math.ceil(1 / (self.rate * self.least_reference) - 1e-9)


Strategy = EveryHead | Feedback


@dataclass(frozen=True, eq=False)
class Note:
    """For each noted bucket and each head (by index): the probes it answered, and those in which it had a
    match."""

    bucket: Integers
    probed: Integers
    contributed: Integers

    def size(self) -> int:
        """The size in bytes: a head, a share and the count for every pair that was probed, and the
        buckets."""
        return 4 + 2 * len(self.bucket) + 3 * int(np.count_nonzero(self.probed))


def buckets_of(values: Values, buckets: int, within: float = 0.0) -> Integers:
    """The hash bucket of each value; it is the same for every head. If values match within a distance, ranges of
    four times that length have a bucket: what is learned of a value holds for those near it."""
    if within:
        values = np.floor(values / (4.0 * within))
    if values.dtype == np.float64:
        values = (values + 0.0).view(np.int64)  # 0.0 and -0.0 are equal
    hashes = hash_words(np.ascontiguousarray(values, dtype=np.int64))
    return ((hashes >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


def base_matrix(feedback: Feedback, heads: int) -> Floats:
    """The relevance before any note."""
    return np.full((feedback.buckets, heads), feedback.base)


def noted(bucket: Integers, probed: Booleans, contributed: Booleans) -> Note:
    """The note on a batch of probes: each row's bucket, the heads it probed, and those of them that had a
    match."""
    buckets, row_of = np.unique(bucket, return_inverse=True)
    counts = np.zeros((2, len(buckets), probed.shape[1]), dtype=np.int64)
    np.add.at(counts[0], row_of, probed)
    np.add.at(counts[1], row_of, contributed & probed)
    return Note(buckets, counts[0], counts[1])


def learned(matrix: Floats, note: Note, feedback: Feedback) -> Floats:
    """The relevance after a note."""
    named = note.probed > 0
    share = note.contributed / np.maximum(note.probed, 1)
    mean = share.sum(axis=1) / np.maximum(named.sum(axis=1), 1)
    reference = np.clip(mean, feedback.least_reference, feedback.greatest_reference)
    step = np.where(named, feedback.rate * (share - reference[:, None]), 0.0)
    result = matrix.copy()
    result[note.bucket] = np.clip(result[note.bucket] + step, 0.0, 1.0)
    return result


def chosen_heads(
    matrix: Floats, bucket: Integers, own: int, feedback: Feedback, random: np.random.Generator
) -> Booleans:
    """The heads that each tuple probes, by its bucket. Its own head is never among them, because it was
    probed already (Definition 3)."""
    entries = np.maximum(matrix[bucket], feedback.floor)
    if feedback.length is None:
        included: Booleans = random.random(entries.shape) < entries
    else:
        # The heads with the shortest exponential waiting times: a draw without replacement by weight.
        with np.errstate(divide="ignore"):
            waiting = random.exponential(size=entries.shape) / entries
        waiting[:, own] = np.inf
        length = min(feedback.length, entries.shape[1] - 1)
        included = np.zeros(entries.shape, dtype=np.bool_)
        if length:
            first = np.argpartition(waiting, length - 1, axis=1)[:, :length]
            np.put_along_axis(included, first, True, axis=1)
            included &= np.isfinite(waiting)
    included[:, own] = False
    return included
