"""An aggregate over an equijoin of sliding windows, as peers compute it: `SELECT COUNT(*), SUM(x.v) FROM x [RANGE ...],
y [RANGE ...] WHERE x.b = y.b`, every SLIDE.

The rows of each stream (a side) go to the owner of the bucket of their key. The buckets are a fixed number of parts of
all keys, each with a key of its own on the ring. So the part of a bucket in an answer depends on the streams alone, not
on who owns which arc: it may be computed twice, by an owner and by its heir, and counts once.

>>> plan = TallyPlan(
...     (Side("X", 5_000_000, ("g0",)), Side("Y", 5_000_000, ("a0",))),
...     1_000_000,
...     4,
...     "x.b=y.b",
...     (Group(0, "g0"),),
...     (Item("count"), Item("sum", 1, "a0", whole=True)),
... )
>>> TallyPlan.from_json(plan.as_json()) == plan, len(plan.bucket_keys)
(True, 4)
>>> plan.ticks(1_000_001, 3_000_001)
[2000000, 3000000]
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
import polars as pl

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Words
from nilometer.kernels.stable_hash import fold, hash_texts
from nilometer.operators.value_hashes import hashes_of

JOINED = "key"
"""The column by which the sides are joined."""


@dataclass(frozen=True)
class Side:
    """A stream and the width of its window in microseconds. Its rows have `columns` besides the joined one."""

    stream: str
    width: int
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """A column of GROUP BY: a side's."""

    side: int
    column: str


@dataclass(frozen=True)
class Item:
    """An aggregate: `count`, `sum` (also for AVG), `min` or `max` of a side's column; without one, COUNT(*).
    `whole`: the column is INT."""

    function: str
    side: int = 0
    column: str | None = None
    whole: bool = False


@dataclass(frozen=True)
class TallyPlan:
    """An aggregate over a join. `class_id` names the equal columns."""

    sides: tuple[Side, ...]
    slide: int
    buckets: int
    class_id: str
    groups: tuple[Group, ...]
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        if len(self.sides) < 2 or self.slide <= 0 or self.buckets <= 0:
            raise ConfigurationError("an aggregate of peers needs two streams, a SLIDE and a bucket")

    @property
    def width(self) -> int:
        """The widest window."""
        return max(side.width for side in self.sides)

    @cached_property
    def bucket_keys(self) -> Words:
        """The place of each bucket on the ring."""
        return fold(self._name, hashes_of(pl.int_range(self.buckets, dtype=pl.Int64, eager=True)))

    def keys_of(self, values: pl.Series) -> Words:
        """The key of the bucket of each value."""
        buckets = (hashes_of(values) % np.uint64(self.buckets)).astype(np.int64)
        return self.bucket_keys[buckets]

    def ticks(self, since: int, watermark: int) -> list[int]:
        """The evaluations T with since <= T < watermark."""
        first = -(-since // self.slide)
        return [at * self.slide for at in range(first, -(-watermark // self.slide))]

    @property
    def identity(self) -> str:
        """The same for equal plans, on every machine."""
        return hashlib.blake2b(self.as_json().encode(), digest_size=8).hexdigest()

    def as_json(self) -> str:
        """As text, for the wire."""
        return json.dumps(astuple(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> TallyPlan:
        """Read the output of `as_json`."""
        sides, slide, buckets, class_id, groups, items = json.loads(text)
        return TallyPlan(
            tuple(Side(stream, width, tuple(columns)) for stream, width, columns in sides),
            slide,
            buckets,
            class_id,
            tuple(Group(*one) for one in groups),
            tuple(Item(*one) for one in items),
        )

    @property
    def _name(self) -> Words:
        text = np.frombuffer(f"{self.class_id}/{self.buckets}".encode(), dtype=np.uint8)
        name = hash_texts(text, np.array([0, len(text)], dtype=np.int64))
        return np.full(self.buckets, name[0], dtype=np.uint64)
