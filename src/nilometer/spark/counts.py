"""The counters of a micro-batch, from the tasks that read it and the buckets that process it.

>>> one = Counts(read=5, late_of={"air": 1}) + Counts(
...     read=2, late_of={"air": 2, "water": 1}, shed_of={"air": 4}
... )
>>> one.read, one.late_of, one.shed
(7, {'air': 3, 'water': 1}, 4)
>>> Counts.of_json(one.as_json()) == one
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

MOST_LETTERS = 1_000
"""The lines about rows that were set aside in a micro-batch; more are only counted."""


@dataclass(frozen=True)
class Counts:
    """`read`, `delivered`, `filtered` and `late` count a reading each time the query reads its stream. By the
    stream's lower-case name: `late_of` counts a late reading once; `shed_of` counts the readings that joins
    shed for lack of memory. `failed` and `errors` count rows that were set aside (QueryLedger); `letters` are lines
    about the first of them (dataflow/dead_rows.py). `work` is what each operator did (layout/work.py), `held_of` the
    bytes of state by fragment.
    """

    read: int = 0
    delivered: int = 0
    filtered: int = 0
    late: int = 0
    state_bytes: int = 0
    state_panes: int = 0
    late_of: Mapping[str, int] = field(default_factory=dict)
    shed_of: Mapping[str, int] = field(default_factory=dict)
    failed: int = 0
    errors: int = 0
    letters: tuple[Mapping[str, Any], ...] = ()
    work: Mapping[str, int] = field(default_factory=dict)
    held_of: Mapping[str, int] = field(default_factory=dict)

    @property
    def shed(self) -> int:
        """The sum over all streams."""
        return sum(self.shed_of.values())

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(_sum(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)))

    def as_json(self) -> dict[str, Any]:
        """The counters that are not zero, by name."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name))}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Counts:
        """The inverse of `as_json`."""
        return cls(**{**found, "letters": tuple(found.get("letters", ()))})


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return (one + other)[:MOST_LETTERS]
    return one + other if isinstance(one, int) else dict(Counter(one) + Counter(other))
