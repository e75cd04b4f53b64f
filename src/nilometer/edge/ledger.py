"""The books of one stream: every reading received is in exactly one other account (design principle 7).

>>> ledger = Ledger(received=5, garbled=1, late=1, accepted=3)
>>> ledger.balanced, ledger.appended
(True, 4)
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Ledger:
    """received = garbled + future + duplicate + late + accepted."""

    received: int = 0
    garbled: int = 0
    future: int = 0
    duplicate: int = 0
    late: int = 0
    accepted: int = 0

    @property
    def appended(self) -> int:
        """What the stream's log holds: late readings stay in it."""
        return self.late + self.accepted

    @property
    def balanced(self) -> bool:
        """Whether every reading is accounted for once."""
        return self.received == self.garbled + self.future + self.duplicate + self.appended

    def __add__(self, other: Ledger) -> Ledger:
        return Ledger(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_dict(self) -> dict[str, int]:
        """The accounts by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
