"""The agenda (SNEE step 7, Fig. 22): which site does what, and when, as a matrix of sites and times that
repeats.

Times are whole ticks of a timer with `tick_rate` ticks a second: 1024 under `snee-2010`, as in TinyOS, and
otherwise 32768 (a watch crystal). An agenda covers `beta` evaluations, `alpha` ticks apart, and then starts
again. It stores the tasks of every evaluation (`acquisitions`) once, with times relative to the start of an
evaluation. It stores the tasks of a period (`tasks`, `transfers`) with times relative to the start of the
period. So the agenda of 2,000 sites and a thousand evaluations stays small, and a simulator can multiply
instead of repeating.
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
    """One run of a fragment at a site: for one evaluation if the fragment acquires, otherwise for all `beta`
    evaluations of a period."""

    site: NodeId
    fragment: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """`source` sends to its parent `target` the tuples of all `flows`, for `beta` evaluations, in `packets`
    packets. Both radios are on from `start` to `end`. The time to turn them on and off lies before and after
    that (`Agenda.turn_on`, `turn_off`), or, under `snee-2010`, within it. `reserved`: how many transmissions,
    of `beat` milliseconds each, the slot has time for where packets are acknowledged and retried; None: each
    packet is sent once."""

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
        """The number of packet transmissions that the slot has time for."""
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
    """The tasks of the sites (`sites`: the columns, in their order) in a period of `alpha * beta` ticks.

    `sleeps_alone`: every site sleeps whenever it has nothing to do. Otherwise (SNEE 2010) all sites sleep
    together, in `sleeps`, and a site that waits in between is idle. `delivery` is the end of the last task of
    the period. `turn_on` and `turn_off`: how long before a transfer its radios must start to wake, and how
    long after it they are off; see `radio_intervals`.
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
        """The number of ticks after which the agenda repeats."""
        return self.alpha * self.beta

    @property
    def last_evaluation(self) -> int:
        """The start of the last evaluation of a period. No site sends before it."""
        return self.alpha * (self.beta - 1)

    @cached_property
    def delivery(self) -> int:
        """The end of the last task: the longest time that the answer to the first evaluation waits."""
        ends = [task.end for task in self.tasks] + [transfer.end for transfer in self.transfers]
        return max(ends, default=self.last_evaluation + self.acquired)

    @cached_property
    def acquired(self) -> int:
        """The end of the last acquisition, relative to the start of its evaluation."""
        return max((task.end for task in self.acquisitions), default=0)

    def milliseconds(self, ticks: int) -> int:
        """A time as SNEE prints it: rounded up to whole milliseconds."""
        return -(-ticks * 1000 // self.tick_rate)

    def seconds(self, ticks: float) -> float:
        """A time in seconds."""
        return ticks / self.tick_rate

    @property
    def sleeps(self) -> tuple[Sleep, ...]:
        """The times when the whole network sleeps: after the acquisitions of each evaluation but the last,
        and after the delivery."""
        between = (
            Sleep(None, number * self.alpha + self.acquired, (number + 1) * self.alpha)
            for number in range(self.beta - 1)
        )
        return (*between, Sleep(None, self.delivery, self.period))

    def all_tasks(self) -> Iterator[Task]:
        """Every task of a period by start time, with the acquisitions of every evaluation listed. The result
        is long for a large beta."""
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
        """The tasks of each site in every evaluation, by start time."""
        found: dict[NodeId, list[FragmentTask]] = {site: [] for site in self.sites}
        for task in self.acquisitions:
            found[task.site].append(task)
        return MappingProxyType(
            {site: tuple(sorted(tasks, key=lambda task: task.start)) for site, tasks in found.items()}
        )

    @cached_property
    def radio_intervals(self) -> Mapping[NodeId, tuple[tuple[int, int], ...]]:
        """The intervals of a period in which the radio of each site is on, including waking and going to
        sleep. The radio stays on between two transfers if the gap is too short to turn it off and on
        again."""
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
        """The tasks of each site once in a period, by start time. A transfer appears in the columns of both
        its ends."""
        found: dict[NodeId, list[FragmentTask | Transfer]] = {site: [] for site in self.sites}
        for task in self.tasks:
            found[task.site].append(task)
        for transfer in self.transfers:
            found[transfer.source].append(transfer)
            found[transfer.target].append(transfer)
        return MappingProxyType(
            {site: tuple(sorted(tasks, key=lambda task: task.start)) for site, tasks in found.items()}
        )
