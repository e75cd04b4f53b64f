"""The agenda (SNEE step 7, Fig. 22): which site does what, and when, as a matrix of sites and times that repeats.

Times are whole ticks of a timer of `tick_rate` ticks a second: 1024 as TinyOS has it under `snee-2010`, 32768 (a watch
crystal) else. An agenda covers `beta` evaluations, `alpha` ticks apart, and then begins anew. What is done in every
evaluation (`acquisitions`) is kept once, with times from the beginning of an evaluation; what is done once in a period
(`tasks`, `transfers`) with times from the beginning of the period. So an agenda of 2,000 sites and a thousand evaluations
is small, and a simulator can multiply instead of repeating.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from nilometer.catalog.network import NodeId
from nilometer.placement.placed_plan import Flow


@dataclass(frozen=True, slots=True)
class FragmentTask:
    """The evaluation of a fragment at a site: of one evaluation if it acquires, else of all `beta` that have gathered."""

    site: NodeId
    fragment: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """`source` transmits to its parent `target`, which receives: the tuples of all `flows`, `beta` evaluations of them, in
    `packets` packets. Both radios are on from `start` to `end`; what it takes to turn them on and off is before and after
    that (`Agenda.turn_on`, `turn_off`), or, under `snee-2010`, within. `reserved`: how many sendings there is time for,
    where packets are acknowledged and sent again, each taking `beat` milliseconds; None: each is sent once."""

    source: NodeId
    target: NodeId
    start: int
    end: int
    flows: tuple[Flow, ...]
    packets: int
    reserved: int | None = None
    beat: float = 0.0

    @property
    def sendings(self) -> int:
        """The sendings of packets that the slot has time for."""
        return self.packets if self.reserved is None else self.reserved


@dataclass(frozen=True, slots=True)
class Sleep:
    """A site has nothing to do (`site` None: the whole network is told to sleep, as in SNEE)."""

    site: NodeId | None
    start: int
    end: int


Task = FragmentTask | Transfer | Sleep


@dataclass(frozen=True)
class Agenda:
    """What the sites (`sites`: the columns, in their order) do in a period of `alpha * beta` ticks.

    `sleeps_alone`: every site sleeps whenever it has nothing to do; else (SNEE 2010) all sleep together, in `sleeps`, and
    a site that waits in between is idle. `delivery` is when the last task of the period ends. `turn_on` and `turn_off`: how
    long before a transfer its radios must begin to wake, and how long after it they are off; see `radio_intervals`.
    """

    sites: tuple[NodeId, ...]
    alpha: int
    beta: int
    tick_rate: int
    acquisitions: tuple[FragmentTask, ...]
    tasks: tuple[FragmentTask, ...]
    transfers: tuple[Transfer, ...]
    sleeps_alone: bool = True
    turn_on: int = 0
    turn_off: int = 0

    @property
    def period(self) -> int:
        """After how many ticks it begins anew."""
        return self.alpha * self.beta

    @property
    def last_evaluation(self) -> int:
        """When the last evaluation of a period begins: nothing is sent before it."""
        return self.alpha * (self.beta - 1)

    @cached_property
    def delivery(self) -> int:
        """When the last task ends: the longest that an answer to the first evaluation waits."""
        ends = [task.end for task in self.tasks] + [transfer.end for transfer in self.transfers]
        return max(ends, default=self.last_evaluation + self.acquired)

    @cached_property
    def acquired(self) -> int:
        """When, in an evaluation, the last acquisition ends."""
        return max((task.end for task in self.acquisitions), default=0)

    def milliseconds(self, ticks: int) -> int:
        """A time as SNEE prints it: rounded up to whole milliseconds."""
        return -(-ticks * 1000 // self.tick_rate)

    def seconds(self, ticks: float) -> float:
        """A time in seconds."""
        return ticks / self.tick_rate

    @property
    def sleeps(self) -> tuple[Sleep, ...]:
        """When the whole network sleeps: after the acquisitions of each evaluation but the last, and after the delivery."""
        between = (
            Sleep(None, number * self.alpha + self.acquired, (number + 1) * self.alpha)
            for number in range(self.beta - 1)
        )
        return (*between, Sleep(None, self.delivery, self.period))

    def all_tasks(self) -> Iterator[Task]:
        """Every task of a period, acquisitions of every evaluation spelled out, by start; long for a large beta."""
        spelled = [
            FragmentTask(task.site, task.fragment, task.start + offset, task.end + offset)
            for offset in range(0, self.period, self.alpha)
            for task in self.acquisitions
        ]
        everything: list[Task] = [*spelled, *self.tasks, *self.transfers]
        everything.extend(self.sleeps if not self.sleeps_alone else ())
        return iter(sorted(everything, key=lambda task: (task.start, task.end)))

    @cached_property
    def acquisitions_at(self) -> Mapping[NodeId, tuple[FragmentTask, ...]]:
        """What each site does in every evaluation, by start."""
        found: dict[NodeId, list[FragmentTask]] = {site: [] for site in self.sites}
        for task in self.acquisitions:
            found[task.site].append(task)
        return MappingProxyType(
            {site: tuple(sorted(tasks, key=lambda task: task.start)) for site, tasks in found.items()}
        )

    @cached_property
    def radio_intervals(self) -> Mapping[NodeId, tuple[tuple[int, int], ...]]:
        """When the radio of each site is on in a period, waking and going to sleep included. Between two transfers that are
        closer than it takes to turn it off and on again it stays on."""
        found: dict[NodeId, list[tuple[int, int]]] = {site: [] for site in self.sites}
        for transfer in sorted(self.transfers, key=lambda transfer: transfer.start):
            for site in (transfer.source, transfer.target):
                begin, end = transfer.start - self.turn_on, transfer.end + self.turn_off
                intervals = found[site]
                if intervals and begin <= intervals[-1][1]:
                    begin = intervals.pop()[0]
                intervals.append((begin, end))
        return MappingProxyType({site: tuple(intervals) for site, intervals in found.items()})

    @cached_property
    def column(self) -> Mapping[NodeId, tuple[FragmentTask | Transfer, ...]]:
        """What each site does once in a period, by start; a transfer stands in the column of both its ends."""
        found: dict[NodeId, list[FragmentTask | Transfer]] = {site: [] for site in self.sites}
        for task in self.tasks:
            found[task.site].append(task)
        for transfer in self.transfers:
            found[transfer.source].append(transfer)
            found[transfer.target].append(transfer)
        return MappingProxyType(
            {site: tuple(sorted(tasks, key=lambda task: task.start)) for site, tasks in found.items()}
        )
