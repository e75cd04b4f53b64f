"""A placement with the exact sizes of our tuples, so that slots and buffers fit the programs.

The planner sizes tuples by its own rules. On motes an AVG travels as sum and count up to the gateway, and a
row that a row window will count names the site that acquired it. The planner does not know of these extra
bytes.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from nilometer.errors import InfeasibleError, UnsupportedError
from nilometer.placement import Placement
from nilometer.placement.buffering import Scheduler
from nilometer.placement.packets import Load
from nilometer.placement.placed_plan import PlacedPlan
from nilometer.placement.workload import workload
from nilometer.sensornet.motes.converters import Converters
from nilometer.sensornet.motes.fields import tuple_size
from nilometer.sensornet.motes.site import Delivered, Motes, motes_of
from nilometer.sensornet.motes.starting import starting_for
from nilometer.sensornet.motes.timekeeping import timekeeping_for
from nilometer.types import format_duration


def sized(
    placement: Placement, converters: Converters | None = None, drift: float = 0.0, *, waiting: bool = False
) -> Motes:
    """The code generator's view of a placement, with its agenda and estimates computed anew for the same
    buffering factor, and for clocks that are off by up to `drift`. `waiting`: motes are told when to
    start."""
    motes = motes_of(placement, converters)
    starting = starting_for(placement.routing, drift) if waiting else None
    motes = replace(motes, starting=starting)
    if drift:
        timekeeping = timekeeping_for(drift, placement, 1.0 if starting is None else starting.seconds)
        motes = replace(motes, timekeeping=timekeeping)
        placement = replace(placement, costs=timekeeping.costs(placement.costs))
    sizes = {
        fragment.number: tuple_size(motes.fields(fragment.number))
        for fragment in placement.fragments
        if not fragment.delivers
    }
    room = placement.costs.packet_room - 1  # a run starts with a byte of its own
    for number, size in sizes.items():
        if size > room:
            raise UnsupportedError(
                f"a tuple of fragment F{number} is larger than a packet",
                detail=f"it takes {size} bytes, and a packet has room for {room}",
                hint="select fewer columns or aggregates",
            )
    placed = replace(
        placement.placed,
        flows=tuple(replace(flow, size=sizes[flow.fragment]) for flow in placement.placed.flows),
    )
    interval = motes.typing.interval
    work = workload(placed, placement.costs, placement.profile)
    work = replace(work, delivered=tuple(_load(motes, placed, kind) for kind in motes.delivered))
    scheduler = Scheduler(work, placement.network, interval, placement.costs, placement.profile)
    scheduled = scheduler.scheduled(placement.beta)
    if scheduled.agenda.delivery > scheduled.agenda.period:
        raise InfeasibleError(
            "the agenda of the motes does not fit into its period",
            detail=f"{placement.beta} evaluations every {format_duration(interval)} take"
            f" {scheduled.agenda.seconds(scheduled.agenda.delivery):.3f} s of"
            f" {scheduled.agenda.seconds(scheduled.agenda.period):.3f} s",
            hint="acquire less often, or select fewer columns",
        )
    fitting = replace(
        placement, placed=placed, agenda=scheduled.agenda, sites=scheduled.sites, estimate=scheduled.estimate
    )
    return replace(motes, placement=fitting)


def _load(motes: Motes, placed: PlacedPlan, kind: Delivered) -> Load:
    """The load of one kind of tuples on the sink's serial line."""
    arriving = [
        flow
        for flow in placed.incoming[placed.routing.sink]
        if (flow.fragment, flow.consumer) == (kind.producer, 0)
    ]
    rows, stride = sum(flow.rows for flow in arriving), gcd(*(flow.stride for flow in arriving)) or 1
    return Load(max(rows, 1), tuple_size(motes.typing.stored(kind.node, kind.ordered)), stride)
