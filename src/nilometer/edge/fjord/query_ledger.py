"""The books of one query: every reading that it was given is in exactly one other account (design principle 7).

>>> QueryLedger(read=5, delivered=3, filtered=1, late=1).balanced
True
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class QueryLedger:
    """read = delivered + filtered + late + shed."""

    read: int = 0
    delivered: int = 0
    filtered: int = 0
    late: int = 0
    shed: int = 0

    @property
    def balanced(self) -> bool:
        """Whether every reading is accounted for once."""
        return self.read == self.delivered + self.filtered + self.late + self.shed

    def __add__(self, other: QueryLedger) -> QueryLedger:
        return QueryLedger(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_dict(self) -> dict[str, int]:
        """The accounts by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
