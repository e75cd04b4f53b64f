"""A round of a pipeline, which is one micro-batch of Spark, and its result.

A round says what has changed and which stretches of the logs are read. It is made from the logs' headers and the changes
alone, so that every process that runs the same rounds in the same order has the same state and the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nilometer.dataflow.analysis import Work
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Rows
from nilometer.errors import NilometerError
from nilometer.log import Offset
from nilometer.spark.admission import Piece
from nilometer.spark.shared.changes import Change, Panes
from nilometer.spark.shared.packed_results import packed, unpacked


@dataclass(frozen=True)
class Stretch:
    """What a group reads in a round. `again`: it was answered before, and its answers are discarded."""

    group: int
    pieces: tuple[Piece, ...]
    again: bool = False

    @property
    def rows(self) -> int:
        """The number of readings in it."""
        return sum(piece.rows for piece in self.pieces)


@dataclass(frozen=True)
class Round:
    """The `number`-th round of a run. `offsets` say how far every group has answered after it. `merged` groups have come to
    the same place as others, and go on as part of them. `unread`: groups whose log cannot be read, and why. `behind`: groups
    that have still to read again what they have answered."""

    number: int
    changes: tuple[Change, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    offsets: Mapping[int, Mapping[str, Offset]] = field(default_factory=dict)
    merged: tuple[tuple[int, int], ...] = ()
    unread: Mapping[int, NilometerError] = field(default_factory=dict)
    behind: frozenset[int] = frozenset()

    @property
    def rows(self) -> int:
        """The number of readings in it."""
        return sum(stretch.rows for stretch in self.stretches)


@dataclass(frozen=True)
class Left:
    """A query that has left, with its state and its books. None: it was behind, so the commit log has its books, and its
    last saved state stays. `number` is that of the member (changes.py)."""

    number: int
    state: tuple[Panes, QueryLedger] | None


@dataclass(frozen=True)
class Spent:
    """The microseconds of each query's own operators in one part, of all the work there, and those that have passed, since
    the last account."""

    times: Mapping[str, int]
    busy: int
    elapsed: int


@dataclass
class RoundResult:
    """The outcome of a round.

    Attributes
    ----------
    answers
        The rows of each query that has any. Parts of frames that queries share stay shared.
    books
        The accounts of the queries that answered or have come to their last commit; those of all queries if a state was
        asked for, or if they are few. A query that is behind is in no account.
    failures
        The errors that stopped queries. What these answered in the round does not count.
    letters
        Lines about the rows that queries have set aside.
    joined
        The numbers of the queries that have joined.
    left
        The queries that have left.
    panes
        The states of all queries that are not behind, after the round, if they were asked for.
    frontiers
        The greatest tick that a query whose tables have changed may have answered for.
    analyses
        The plans with the work of their operators that were asked for.
    watermarks
        The watermark of each query in `books`.
    spent
        The accounts of the parts, now and then.
    divided
        The queries whose state here is that of one part.
    works
        How long each query has computed so far, and with how many others it shares operators; only of few.
    again
        How many readings each group that is behind has read again.
    missed
        The earlier rounds that a task has run again, because another process had run them.
    """

    number: int
    offsets: Mapping[int, Mapping[str, Offset]]
    merged: tuple[tuple[int, int], ...] = ()
    answers: dict[str, list[Rows]] = field(default_factory=dict)
    books: dict[str, QueryLedger] = field(default_factory=dict)
    watermarks: dict[str, int | None] = field(default_factory=dict)
    failures: dict[str, NilometerError] = field(default_factory=dict)
    letters: dict[str, tuple[dict[str, object], ...]] = field(default_factory=dict)
    joined: dict[str, int] = field(default_factory=dict)
    left: dict[str, Left] = field(default_factory=dict)
    panes: dict[str, Panes] | None = None
    frontiers: dict[str, int | None] = field(default_factory=dict)
    analyses: dict[str, str] = field(default_factory=dict)
    works: dict[str, Work] = field(default_factory=dict)
    divided: frozenset[str] = frozenset()
    spent: tuple[Spent, ...] = ()
    milliseconds: float = 0.0
    again: dict[int, int] = field(default_factory=dict)
    missed: int = 0
    way: str = ""

    def __getstate__(self) -> dict[str, Any]:
        return packed(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = unpacked(state)
