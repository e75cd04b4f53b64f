"""RJoin (Idreos, Liarou and Koubarakis, EDBT 2008): the rival of DHTJoin, complete (algorithms, section 6.4).

Each tuple is put 2h times, under (relation, attribute) and under (relation, attribute, value) of its h attributes. A query
waits at the attribute level of its first stream; a tuple of it rewrites the query: its values become constants, and the
rest goes to the value level of the next stream. There queries meet stored tuples and tuples meet stored queries, until no
join is left. Attribute-level nodes remember tuples for a while (ALTT), so that a query that was overtaken misses none.

The law: the results are those of the join, whatever the order in which messages come.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from random import Random
from typing import Any

from nilometer.overlay.join_plan import JoinPlan

Row = dict[str, Any]


@dataclass(frozen=True)
class _Rewritten:
    """A query with the positions and times of the tuples that are used, and the constants of its classes."""

    used: tuple[tuple[int, int, int], ...]
    constants: tuple[tuple[int, Any], ...]


class RJoin:
    """One query and its streams, over a network that delivers messages in random order."""

    def __init__(
        self, plan: JoinPlan, start: int, attributes: dict[str, tuple[str, ...]], seed: int = 0
    ) -> None:
        self._plan, self._start, self._attributes = plan, start, attributes
        self._random = Random(seed)
        self._air: deque[tuple[tuple[Any, ...], Any]] = deque()
        self._queries: dict[tuple[Any, ...], list[_Rewritten]] = {}
        self._tuples: dict[tuple[Any, ...], list[Row]] = {}
        self._order = self._join_order()
        self.sent: Counter[str] = Counter()
        self.results: list[tuple[int, ...]] = []
        self._send("query", self._place(_Rewritten((), ())), _Rewritten((), ()))

    def _join_order(self) -> list[int]:
        order = [0]
        while len(order) < len(self._plan.inputs):
            known = {by for by, one in enumerate(self._plan.classes) if any(at in order for at, _ in one)}
            order.append(
                next(at for by in sorted(known) for at, _ in self._plan.classes[by] if at not in order)
            )
        return order

    def insert(self, stream: str, row: Row) -> None:
        """A tuple comes."""
        for name in self._attributes[stream]:
            self._send("index", (stream, name), row)
            self._send("index", (stream, name, row[name]), row)

    def run(self) -> None:
        """Deliver all messages, in random order."""
        while self._air:
            at = self._random.randrange(len(self._air))
            self._air.rotate(-at)
            place, what = self._air.popleft()
            if isinstance(what, _Rewritten):
                self._queries.setdefault(place, []).append(what)
                for row in self._tuples.get(place, []):
                    self._meet(place, what, row)
            else:
                self._tuples.setdefault(place, []).append(what)
                for query in self._queries.get(place, []):
                    self._meet(place, query, what)

    def _send(self, kind: str, place: tuple[Any, ...], what: Any) -> None:
        self.sent[kind] += 1
        self._air.append((place, what))

    def _place(self, query: _Rewritten) -> tuple[Any, ...]:
        """Where a query waits: at the value level if the value of the next stream's class is known."""
        at = self._order[len(query.used)]
        constants = dict(query.constants)
        for by, one in enumerate(self._plan.classes):
            for place, column in one:
                if place == at and by in constants:
                    return (self._plan.inputs[at].stream, column, constants[by])
        by, column = next((by, c) for by, one in enumerate(self._plan.classes) for p, c in one if p == at)
        return (self._plan.inputs[at].stream, column)

    def _meet(self, place: tuple[Any, ...], query: _Rewritten, row: Row) -> None:
        plan, at = self._plan, self._order[len(query.used)]
        if row["@time"] < self._start or place[0] != plan.inputs[at].stream:
            return
        for other, _, moment in query.used:
            ahead = row["@time"] - moment
            if ahead > plan.widths[other][at] or -ahead > plan.widths[at][other]:
                return
        constants = dict(query.constants)
        for by, one in enumerate(plan.classes):
            for member, column in one:
                differs = member == at and constants.setdefault(by, row[column]) != row[column]
                if differs or (member == at and row[column] is None):
                    return
        used = (*query.used, (at, row["@position"], row["@time"]))
        if len(used) == len(plan.inputs):
            self.sent["result"] += 1
            self.results.append(tuple(position for _, position, _ in sorted(used)))
        else:
            rewritten = _Rewritten(used, tuple(sorted(constants.items())))
            self._send("rewrite", self._place(rewritten), rewritten)
