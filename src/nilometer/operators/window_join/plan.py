"""How the W-join finds its N-tuples: for the new tuples of each stream, the order of the other streams and
the search at each step.

The three forms of STEAM (section 6.2) differ in nothing else:

| form | the next stream | candidates are found by |
|---|---|---|
| NLW | in the order of FROM: a left-deep pipeline | time alone; all remaining tuples are compared |
| HW | tied by an equality, then the narrowest window | time and the hash of the equal keys |
| MW | the least fan-out: window width times the share that its conditions keep | time and hash; else time and a band's sorted values |

The join uses the widths that the bounds *imply* (kernels/window_bounds.py). It tests them between the next
stream and every stream chosen before. This test is the filter and the refinement in one. No implied width is
wider than the bound given, so all given bounds hold. Any N-tuple within the given bounds is within the
implied ones, so nothing is lost. The paper's separate refine step is needed only where the filter is coarser
than the closure, for example one period of the widest window for all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from nilometer.expressions import Call, Expression, columns_of, conjunction, conjuncts, uses_now
from nilometer.kernels.arrays import Integers
from nilometer.operators.bands import Band, bands_of
from nilometer.operators.evaluate.evaluate import Predicate, compile_predicate
from nilometer.operators.window_join.keys import KeyClass

EQUALITY, BAND, COMPARISON = 1 / 20, 1 / 9, 1 / 3
"""The assumed selectivities of conditions (SNEE's; a band is two comparisons)."""


class Form(StrEnum):
    """STEAM's nested-loop, hash and merge W-join."""

    NLW = "NLW"
    HW = "HW"
    MW = "MW"


@dataclass(frozen=True)
class Graph:
    """The connections between the streams: columns per port, implied widths, key classes, and conditions on
    several streams.
    """

    columns: tuple[frozenset[str], ...]
    widths: Integers
    classes: tuple[KeyClass, ...]
    conditions: tuple[Expression, ...]

    def ports(self, condition: Expression) -> frozenset[int]:
        """The streams that a condition reads. NOW reads all of them, because it is the latest member's
        time.
        """
        if uses_now(condition):
            return frozenset(range(len(self.columns)))
        read = columns_of(condition)
        return frozenset(port for port, names in enumerate(self.columns) if names & read)

    def port_of(self, column: str) -> int:
        """The stream that has this column."""
        return next(port for port, names in enumerate(self.columns) if column in names)

    def tying(self, port: int, chosen: Sequence[int]) -> tuple[KeyClass, ...]:
        """The classes that tie a stream to the chosen streams."""
        return tuple(one for one in self.classes if port in one.ports and one.ports & set(chosen))


@dataclass(frozen=True)
class Search:
    """A search for candidates by value: their `column` lies within each band of a chosen port's column
    (`plus` is ours).
    """

    column: str
    bands: tuple[tuple[int, Band], ...]


@dataclass(frozen=True)
class Probe:
    """Adds a tuple of `port` to each partial tuple.

    Candidates are found by `reach` (chosen port, implied width), together with the `hashed` classes (by an
    index, or by a scan if `scanned`) or the `search`. The classes in `compared` and the `condition`, which
    reads `columns` (port, name), then decide. The key of each class is taken from a chosen port.
    """

    port: int
    hashed: tuple[tuple[int, KeyClass], ...]
    scanned: bool
    compared: tuple[tuple[int, KeyClass], ...]
    search: Search | None
    reach: tuple[tuple[int, int], ...]
    condition: Predicate | None
    columns: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Steps:
    """The steps from the new tuples of `start` to N-tuples."""

    start: int
    steps: tuple[Probe, ...]


def plan_steps(graph: Graph, start: int, form: Form) -> Steps:
    """Plans the order in which the streams are added to a start stream, and the tests of each step."""
    chosen = [start]
    pending = list(graph.conditions)
    steps = []
    while len(chosen) < len(graph.columns):
        left = [port for port in range(len(graph.columns)) if port not in chosen]
        port = min(left, key=lambda port: _rank(graph, chosen, port, form))
        known = {*chosen, port}
        ready = [condition for condition in pending if graph.ports(condition) <= known]
        pending = [condition for condition in pending if condition not in ready]
        steps.append(_step(graph, chosen, port, ready, form))
        chosen.append(port)
    return Steps(start, tuple(steps))


def _rank(graph: Graph, chosen: Sequence[int], port: int, form: Form) -> tuple[float, ...]:
    """The rank of a stream; the stream with the least rank is next."""
    width = min(int(graph.widths[port, other]) for other in chosen)
    match form:
        case Form.NLW:
            return (port,)
        case Form.HW:
            return (not graph.tying(port, chosen), width, port)
        case Form.MW:
            return (fan_out(graph, chosen, port), width, port)


def fan_out(graph: Graph, chosen: Sequence[int], port: int) -> float:
    """Estimates how many candidates of a stream a partial tuple has, leaving out the streams' rates: the
    width of the window times the share that the conditions keep. A window of width 0 still has the tuples of
    one moment.
    """
    width = min(int(graph.widths[port, other]) for other in chosen)
    share = EQUALITY ** len(graph.tying(port, chosen))
    known = {*chosen, port}
    ready = [c for c in graph.conditions if port in graph.ports(c) and graph.ports(c) <= known]
    for condition in ready:
        match condition:
            case Call("<" | "<=" | ">" | ">=", (Call("abs"), _)):
                share *= BAND
            case Call("<" | "<=" | ">" | ">="):
                share *= COMPARISON
    return (1 + width) * share


def _step(graph: Graph, chosen: Sequence[int], port: int, ready: list[Expression], form: Form) -> Probe:
    tied = [(next(other for other in chosen if other in one.ports), one) for one in graph.tying(port, chosen)]
    hashed = tuple((other, one) for other, one in tied if one.hashed)
    # An integer is its own hash: for integer keys every row found is equal.
    exact = len(hashed) == 1 and hashed[0][1].exact
    compared = tuple(pair for pair in tied if not (exact and pair in hashed))
    names = {name for condition in ready for name in columns_of(condition)}
    columns = tuple(
        (one, name) for one in (*chosen, port) for name in sorted(graph.columns[one]) if name in names
    )
    condition = compile_predicate(conjunction(ready)) if ready else None
    reach = tuple((other, int(graph.widths[port, other])) for other in chosen)
    search = _search(graph, chosen, port, ready) if form is Form.MW and not hashed else None
    return Probe(port, hashed, form is Form.NLW, compared, search, reach, condition, columns)


def _search(graph: Graph, chosen: Sequence[int], port: int, ready: Sequence[Expression]) -> Search | None:
    """The column of the stream by which to search: the one with the most bounds."""
    bounded: dict[str, list[tuple[int, Band]]] = {}
    for band in bands_of(part for condition in ready for part in conjuncts(condition)):
        ends = {graph.port_of(band.plus): band.plus, graph.port_of(band.minus): band.minus}
        others = [other for other in ends if other in chosen]
        if port in ends and others:
            bounded.setdefault(ends[port], []).append((others[0], band.seen_from(ends[port])))
    if not bounded:
        return None
    column = max(bounded, key=lambda name: sum(1 + band.closed for _, band in bounded[name]))
    return Search(column, tuple(bounded[column]))
