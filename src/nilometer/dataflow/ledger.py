"""The books: every reading received is in exactly one other account (design principle 7).

`Ledger` is kept by a query's door, `StreamLedger` by a stream's entrance before the log. `QueryLedger`
accounts for the readings that a query read.

>>> ledger = Ledger(received=5, garbled=1, late=1, accepted=3)
>>> ledger.balanced, ledger.appended
(True, 4)
>>> (StreamLedger(received=2, appended=2) + StreamLedger(received=1, shed=1)).balanced
True
>>> QueryLedger(read=4, delivered=3, filtered=0, late=0, shed=0).balanced
False
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from operator import add, attrgetter
from typing import Any, Self


@cache
def _counts(kind: Any) -> Callable[[object], tuple[int, ...]]:
    """Gets all counters of an object of a class: thousands are added in a round."""
    return attrgetter(*(field.name for field in fields(kind)))


class Accounts:
    """Named counters that can be added up."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        kind: Any = type(self)
        counts = _counts(kind)
        return type(self)(*map(add, counts(self), counts(other)))

    def as_dict(self) -> dict[str, int]:
        """The accounts by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Ledger(Accounts):
    """received = garbled + future + duplicate + late + accepted."""

    received: int = 0
    garbled: int = 0
    future: int = 0
    duplicate: int = 0
    late: int = 0
    accepted: int = 0

    @property
    def appended(self) -> int:
        """The number of readings in the stream's log. Late readings stay in it."""
        return self.late + self.accepted

    @property
    def balanced(self) -> bool:
        """Whether every reading is accounted for once."""
        return self.received == self.garbled + self.future + self.duplicate + self.appended


@dataclass(frozen=True, slots=True)
class StreamLedger(Accounts):
    """received = appended + garbled + future + duplicate + shed + absorbed. `shed` counts readings that were taken in
    and then dropped because there was no room, `absorbed` those for which a unit before the log gave no row."""

    received: int = 0
    appended: int = 0
    garbled: int = 0
    future: int = 0
    duplicate: int = 0
    shed: int = 0
    absorbed: int = 0

    @property
    def balanced(self) -> bool:
        """Whether every reading is accounted for once."""
        others = self.garbled + self.future + self.duplicate + self.shed + self.absorbed
        return self.received == self.appended + others

    def as_dict(self) -> dict[str, int]:
        """The accounts by name; `absorbed` only where there is a unit before the log."""
        found = Accounts.as_dict(self)
        return (
            found if self.absorbed else {name: count for name, count in found.items() if name != "absorbed"}
        )


@dataclass(frozen=True, slots=True)
class QueryLedger(Accounts):
    """read = delivered + filtered + late + shed + failed.

    `failed` readings were set aside, because a value that the query needs cannot be given; each is in a dead letter.
    `errors` counts the other rows that were: answers of windows and groups, joined rows. They are no readings.
    """

    read: int = 0
    delivered: int = 0
    filtered: int = 0
    late: int = 0
    shed: int = 0
    failed: int = 0
    errors: int = 0

    @property
    def dead(self) -> int:
        """The rows that are in dead letters."""
        return self.failed + self.errors

    @property
    def balanced(self) -> bool:
        """Whether every reading that the query read is accounted for once."""
        return self.read == self.delivered + self.filtered + self.late + self.shed + self.failed
