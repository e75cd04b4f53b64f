"""A workload and expectations -> the buffering factor beta and its agenda (SNEE Fig. 20), or a refusal that
names the binding limit.

Memory limits beta: for beta evaluations a site keeps the tuples that it sends, forwards and consumes. Time
limits it, too: the last task must end within the period and within the delivery time. If a beta keeps both
limits, every smaller one does, so bisection finds the largest. SNEE takes the largest. If the query asks for
nothing else, we take the smallest beta whose network lives 99.95 % as long, because more buffering delays the
answers and saves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from math import ceil, inf

from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import Network, NodeId
from nilometer.errors import InfeasibleError, UnsupportedError
from nilometer.placement.agenda import Agenda
from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.estimate import estimate_network, estimate_sites
from nilometer.placement.profiles import PlacementProfile
from nilometer.placement.quality import Direction, Measure, QualityOfService
from nilometer.placement.site_plan import Estimate, SitePlan
from nilometer.placement.when import build_agenda
from nilometer.placement.workload import Workload
from nilometer.types import DAY, HOUR, MILLISECOND, MINUTE, SECOND, format_duration

LARGEST_BETA = 9999
"""SNEE's own cap."""

GOOD_ENOUGH = 0.9995
"""The share of the longest lifetime above which more buffering is not worth the later answers."""


class Bound(IntEnum):
    """The bounds of a plan, in the order in which they are checked."""

    MEMORY = 0
    BUFFERING_FACTOR = 1
    ACQUISITION_INTERVAL = 2
    DELIVERY_TIME = 3
    LIFETIME = 4
    TOTAL_ENERGY = 5


BOARD = "its sensor board, which is always on"


@dataclass(frozen=True)
class Scheduled:
    """An agenda and its costs."""

    agenda: Agenda
    sites: Mapping[NodeId, SitePlan]
    estimate: Estimate


@dataclass(frozen=True)
class Scheduler:
    """Everything that a schedule depends on, except beta."""

    work: Workload
    network: Network
    interval: int
    costs: CostParameters
    profile: PlacementProfile

    def agenda(self, beta: int) -> Agenda:
        """The agenda with `beta` evaluations in a period."""
        return build_agenda(self.work, self.network, self.interval, beta, self.costs, self.profile)

    def scheduled(self, beta: int) -> Scheduled:
        """The agenda and its costs."""
        agenda = self.agenda(beta)
        sites = estimate_sites(agenda, self.work, self.network, self.costs, self.profile)
        return Scheduled(agenda, sites, estimate_network(agenda, sites, self.network.sink))


def choose_buffering(scheduler: Scheduler, quality: QualityOfService) -> Scheduled:
    """The agenda that meets all expectations and is best at the goal."""
    scheduled = lru_cache(maxsize=64)(scheduler.scheduled)
    largest, fullest = _memory_bound(scheduler)
    numbered = min(LARGEST_BETA, scheduler.profile.wire.evaluations)
    if largest > numbered:
        largest, fullest = numbered, None
    smallest = 1
    if quality.buffering_factor is not None:
        _check_factor(quality.buffering_factor, largest, scheduler, fullest)
        smallest = largest = quality.buffering_factor
    late = _too_late(scheduler, smallest, quality)
    if late is not None:
        raise late
    if scheduler.work.placed.fragments[0].is_leaf:
        largest = smallest  # a plan of one fragment sends nothing
    largest = _last(smallest, largest, lambda beta: _too_late(scheduler, beta, quality) is None)
    best = scheduled(largest)
    _check_energy(best, quality, scheduler.network.sink)
    if smallest == largest or _wants_most(scheduler, quality):
        return best

    def good(beta: int) -> bool:
        found = scheduled(beta)
        if _unmet(found.estimate, quality) is not None:
            return False
        if quality.goal is not None and quality.goal.measure is Measure.DELIVERY_TIME:
            return True
        return worth(found.estimate) >= GOOD_ENOUGH * worth(best.estimate)

    return scheduled(_first(smallest, largest, good))


def buffered_otherwise(scheduler: Scheduler) -> list[Scheduled]:
    """The same work with other buffering factors, regardless of expectations: 1, 2, 4 ... and the largest
    that memory and time allow."""
    largest = min(_memory_bound(scheduler)[0], LARGEST_BETA, scheduler.profile.wire.evaluations)
    if _too_late(scheduler, 1, QualityOfService()) is not None:
        return []
    largest = _last(1, largest, lambda beta: _too_late(scheduler, beta, QualityOfService()) is None)
    factors = [1 << power for power in range(largest.bit_length()) if 1 << power < largest]
    return [scheduler.scheduled(beta) for beta in (*factors, largest)]


def worth(estimate: Estimate) -> float:
    """The value to maximize if the query states no goal: the lifetime of sites whose sensor boards sleep, or,
    where no energy is known, the inverse of the power."""
    if estimate.lifetime_without_board is not None:
        return estimate.lifetime_without_board
    return estimate.period / estimate.energy_without_board if estimate.energy_without_board else inf


# ---- bounds ----------------------------------------------------------------------------------------------------------


def _memory_bound(scheduler: Scheduler) -> tuple[int, NodeId | None]:
    """The largest factor that fits into memory, and the node that is full first."""
    bound, fullest = LARGEST_BETA, None
    for site, site_work in scheduler.work.sites.items():
        available = scheduler.network.node(site).ram
        if available is None:
            continue
        runtime = int(scheduler.costs.fixed_ram)
        fixed = runtime + site_work.ram
        free = available - fixed
        needed = site_work.buffer or (0 if free >= 0 else 1)
        if free < needed:
            raise InfeasibleError(
                f"node {site!r} has not enough RAM",
                detail=f"it has {available} bytes; the runtime takes {runtime}, its operators"
                f" {site_work.ram}, the tuples of one evaluation {site_work.buffer}:"
                f" {fixed + site_work.buffer} in all",
                hint="no query fits: the runtime alone needs more; check `ram`, in bytes, in the network"
                if runtime >= available
                else "select fewer columns, shorten the windows, acquire less often, aggregate earlier, or give the node"
                " more memory",
            ).with_gap((fixed + site_work.buffer) / max(available, 1), Bound.MEMORY)
        if site_work.buffer and free // site_work.buffer < bound:
            bound, fullest = free // site_work.buffer, site
    return bound, fullest


def _check_factor(factor: int, largest: int, scheduler: Scheduler, fullest: NodeId | None) -> None:
    if factor <= largest:
        return
    where, full = "the number that a tuple has of its evaluation", ""
    if fullest is not None:
        where = "the memory of the motes"
        ram, needed = scheduler.network.node(fullest).ram, scheduler.work.sites[fullest].buffer
        full = f": then node {fullest!r} is full, which has {ram} bytes and keeps {needed} of each evaluation"
    raise InfeasibleError(
        f"a buffering factor of {factor} does not fit into {where}",
        detail=f"the most that fits is {largest}{full}",
        hint=f"expect a factor of {largest} or less",
    ).with_gap(factor / largest, Bound.BUFFERING_FACTOR)


def _too_late(scheduler: Scheduler, beta: int, quality: QualityOfService) -> InfeasibleError | None:
    """Why the agenda of that buffering factor takes too long; None if it is short enough."""
    agenda, interval = scheduler.agenda(beta), scheduler.interval
    length = _microseconds(agenda, agenda.delivery - agenda.last_evaluation)
    if agenda.delivery > agenda.period:
        return InfeasibleError(
            f"an acquisition interval of {format_duration(interval)} is too short",
            detail=f"it takes {_shown(length)} to bring one evaluation{_of(agenda)} to the sink,"
            f" and the next begins after {_shown(interval)}; most of it is {_slowest(agenda)}",
            hint=f"the nearest interval that can be kept is {format_duration(_whole(length))}",
        ).with_gap(length / interval, Bound.ACQUISITION_INTERVAL)
    high = quality.delivery_time.high
    delivery = _microseconds(agenda, agenda.delivery)
    if high is not None and delivery > high:
        return InfeasibleError(
            f"a delivery time of {format_duration(round(high))} cannot be kept",
            detail=f"with a buffering factor of {agenda.beta} an answer takes {_shown(delivery)};"
            f" most of it is {_slowest(agenda) if agenda.beta == 1 else 'the waiting for further evaluations'}",
            hint=f"the nearest delivery time that can be kept is {format_duration(_whole(delivery))}"
            + ("" if agenda.beta == 1 else "; a smaller buffering factor makes it shorter"),
        ).with_gap(delivery / high, Bound.DELIVERY_TIME)
    return None


def _check_energy(best: Scheduled, quality: QualityOfService, sink: NodeId) -> None:
    if quality.lifetime and best.estimate.lifetime is None and any(site != sink for site in best.sites):
        raise UnsupportedError(
            "a lifetime cannot be planned, because no node says how much energy it has",
            detail=f"nodes that take part: {join_names(map(str, filter(lambda site: site != sink, best.sites)), 'and')}",
            hint="declare it, in joules: energy = 31320 in the entry of each node of the network, or once under [defaults]",
        )
    unmet = _unmet(best.estimate, quality)
    if unmet is Measure.LIFETIME:
        lifetime = best.estimate.lifetime or 0.0
        site = min(
            (plan for plan in best.sites.values() if plan.lifetime is not None),
            key=lambda plan: plan.lifetime or inf,
        )
        shares = {
            BOARD: site.energy.sensor_board,
            "its processor asleep": site.energy.cpu_sleep,
            "its processor awake": site.energy.cpu_active + site.energy.cpu_idle,
            "its radio": site.energy.radio,
            "its sensor": site.energy.sensor,
        }
        most = max(shares, key=lambda name: shares[name])
        raise InfeasibleError(
            f"a lifetime of {format_duration(round(quality.lifetime.low or 0))} cannot be reached",
            detail=f"node {site.site!r} is the first to run dry, after {lifetime / 86400:.1f} days;"
            f" {shares[most] / site.energy.total:.0%} of its energy goes to {most}",
            hint=f"the nearest lifetime that can be reached is {_rounded_down(lifetime)}; {_remedy(best.estimate, most, quality)}",
        ).with_gap((quality.lifetime.low or 0) / SECOND / lifetime, Bound.LIFETIME)
    if unmet is Measure.TOTAL_ENERGY:
        joules = best.estimate.power * quality.duration / SECOND
        raise InfeasibleError(
            f"a total energy of {quality.total_energy.high:g} J cannot be kept",
            detail=f"over {quality.duration / DAY:.1f} days the network takes {ceil(joules)} J",
            hint=f"the nearest that can be kept is {ceil(joules)} J",
        ).with_gap(joules / (quality.total_energy.high or joules), Bound.TOTAL_ENERGY)


def _unmet(estimate: Estimate, quality: QualityOfService) -> Measure | None:
    """The energy expectation that a plan does not meet."""
    low = quality.lifetime.low
    if low is not None and estimate.lifetime is not None and estimate.lifetime * SECOND < low:
        return Measure.LIFETIME
    high = quality.total_energy.high
    if high is not None and estimate.power * quality.duration / SECOND > high:
        return Measure.TOTAL_ENERGY
    return None


def _wants_most(scheduler: Scheduler, quality: QualityOfService) -> bool:
    """Whether to take the largest beta."""
    if quality.goal is None:
        return scheduler.profile.paper_arithmetic
    if quality.goal.measure is Measure.DELIVERY_TIME:
        return quality.goal.direction is Direction.MAXIMIZE
    return quality.goal.measure in (Measure.LIFETIME, Measure.TOTAL_ENERGY)


# ---- searching -------------------------------------------------------------------------------------------------------


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The largest value that holds. `low` must hold, and every value below one that holds must hold too."""
    if holds(high):
        return high  # memory binds more often than time
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest value that holds. `high` must hold, and every value above one that holds must hold too."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


# ---- words -----------------------------------------------------------------------------------------------------------


def _microseconds(agenda: Agenda, ticks: int) -> int:
    return -(-ticks * SECOND // agenda.tick_rate)


def _whole(microseconds: int) -> int:
    """Rounds up to a unit that people would write: milliseconds, above a minute seconds, above an hour
    minutes."""
    unit = MILLISECOND if microseconds < MINUTE else SECOND if microseconds < HOUR else MINUTE
    return -(-microseconds // unit) * unit


def _rounded_down(seconds: float) -> str:
    """A lifetime in whole days, or hours if it is short."""
    unit = DAY if seconds * SECOND > 2 * DAY else HOUR
    return format_duration(int(seconds * SECOND) // unit * unit)


def _remedy(estimate: Estimate, most: str, quality: QualityOfService) -> str:
    if most == BOARD and estimate.lifetime_without_board is not None:
        return (
            f"boards that can be switched off would make it {_rounded_down(estimate.lifetime_without_board)}"
        )
    longer = "acquisition interval" + ("" if quality.delivery_time.high is None else " or delivery time")
    return f"a longer {longer} would help"


def _shown(microseconds: int) -> str:
    return format_duration(_whole(microseconds))


def _of(agenda: Agenda) -> str:
    return "" if agenda.beta == 1 else f", and {agenda.beta - 1} that were buffered,"


def _slowest(agenda: Agenda) -> str:
    """The task that takes most of the last evaluation, in words."""
    radio = sum(transfer.end - transfer.start for transfer in agenda.transfers)
    computing = sum(task.end - task.start for task in agenda.tasks)
    if agenda.acquired > max(radio, computing):
        return "the acquisition itself"
    if radio >= computing:
        packets = sum(transfer.packets for transfer in agenda.transfers)
        return f"the radio ({packets} packets over {len(agenda.transfers)} hops)"
    return "computing and the sink's serial line"
