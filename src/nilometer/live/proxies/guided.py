"""What a plan wants of sensors that depends on where phenomena are.

    PH_CANDIDATES [... GUIDE FAST f IDLE i AHEAD a REACH r] · SP_ACQUIRE [s; x]
                                                    x EVERY f from sensors at the phenomenon, x EVERY i from all
    SP_ACQUIRE [s; x; WHERE p; SENSORS OF smoke]    x WHERE p from sensors at the phenomenon, nothing from others

The first is a demand of the phenomenon's own, however many queries follow it; the second is the query's. `MEMBERSHIP` says
which sensors these are at the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions.phenomena import GUIDE
from nilometer.catalog.extents import Stream
from nilometer.language.print_expressions import identifier
from nilometer.live.proxies.demand import Demand
from nilometer.live.proxies.demand_of import is_guided, leaf_demand
from nilometer.plan import physical
from nilometer.types import format_duration

Sensors = frozenset[int | str]


@dataclass(frozen=True)
class Place:
    """The sensors at a phenomenon: its members, those so many hops around, and those in its way so soon. `lasts` is how
    long readings count for it."""

    phenomenon: str
    hops: int
    horizon: int
    lasts: int

    @property
    def text(self) -> str:
        """The query for who comes there and who leaves."""
        hops = f" HOPS {self.hops}" if self.hops else ""
        soon = f" HORIZON {format_duration(self.horizon)}" if self.horizon else ""
        return f"SELECT id, inside FROM MEMBERSHIP({identifier(self.phenomenon)}{hops}{soon})"


@dataclass(frozen=True)
class Guided:
    """Demands on a stream that follow a phenomenon: `near` on the sensors at the place, `rest` on all, if anything.
    `asker` is whose they are; None: the query's that has them."""

    asker: str | None
    stream: Stream
    place: Place
    near: Demand
    rest: Demand | None

    def demands(self, inside: Sensors) -> list[Demand]:
        """The demands while these sensors are at the place."""
        found = [] if self.rest is None else [self.rest]
        return [*found, replace(self.near, sensors=inside)] if inside else found


def guided_demands(plan: physical.Node) -> list[Guided]:
    """All demands of a plan that follow phenomena."""
    found: dict[Guided, None] = {}
    calls = {
        str(node.call["NAMED"]): node.call
        for node in physical.walk_plan(plan)
        if isinstance(node, physical.TableFunction) and node.call["NAMED"] is not None
    }
    _collect(plan, (), calls, found)
    return list(found)


def _collect(
    node: physical.Node,
    above: tuple[physical.Node, ...],
    calls: dict[str, FunctionCall],
    found: dict[Guided, None],
) -> None:
    if isinstance(node, physical.SpAcquire):
        if is_guided(above):
            call = next(each.call for each in above if isinstance(each, physical.TableFunction))
            found[_of_phenomenon(node, call)] = None
        elif node.of is not None and node.of[0] in calls:
            name, hops = node.of
            place, asked = Place(name, hops, 0, _lasts(calls[name])), leaf_demand(node, above)
            # Nothing waits for its silence: the detection's readings say that time goes on.
            asked = replace(asked, heartbeat=asked.interval or 0, begins=False)
            found[Guided(None, node.stream, place, asked, None)] = None
    for child in node.inputs:
        _collect(child, (node, *above), calls, found)


def _of_phenomenon(leaf: physical.SpAcquire, call: FunctionCall) -> Guided:
    """The demand of GUIDE: all columns of the readings that the detection needs, without a filter of values, for a
    sensor that is no longer in the class must be heard, too."""
    guide, name = call[GUIDE.word], str(call["NAMED"])
    assert isinstance(guide, tuple)
    fast, idle, ahead, reach = guide
    assert isinstance(fast, int)
    assert isinstance(idle, int)
    assert isinstance(ahead, int)
    assert isinstance(reach, int)
    known = {column.name for column in leaf.stream.columns}
    columns = frozenset(column.name for column in leaf.columns + leaf.reads) & known
    # Its readings say that time goes on: nobody waits for more heartbeats than that.
    near, rest = (Demand((every,), columns, heartbeat=every, begins=False) for every in (fast, idle))
    place = Place(name, reach, ahead, _lasts(call))
    return Guided(f"phenomenon {name}", leaf.stream, place, near, rest)


def _lasts(call: FunctionCall) -> int:
    frame = call.window
    assert isinstance(frame, Frame)
    assert frame.start is not None
    return frame.start + 2 * frame.slide
