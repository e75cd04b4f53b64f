"""A placement, readings and a duration -> a simulated run: answers, energy, deaths and repairs, in virtual
time.

Between two events (a node is killed, a battery runs out, the end) the agenda repeats. Such a stretch is run
at once: its energy is a multiplication (`ledger.py`), and its tuples are columns (`execution.py`). In the
period in which a node dies, it works up to that moment. Then the repair is made, and a new stretch begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.catalog.network import NodeId
from nilometer.dataflow.sources import Extents, MemorySources
from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Integers
from nilometer.placement import Placement
from nilometer.sensornet.events import Events
from nilometer.sensornet.simulation.books import RadioBooks
from nilometer.sensornet.simulation.clocks import Clocks
from nilometer.sensornet.simulation.execution import Execution
from nilometer.sensornet.simulation.happenings import Death, Kill
from nilometer.sensornet.simulation.hops import Air
from nilometer.sensornet.simulation.ledger import EnergyLedger, most_in_a_period
from nilometer.sensornet.simulation.readings import Readings, SyntheticReadings
from nilometer.sensornet.simulation.repair import Overlay, Repair, best_repair, prepare_overlay, repairs
from nilometer.sensornet.simulation.repair.choose import STRATEGIES
from nilometer.sensornet.simulation.repair.dissemination import preloaded
from nilometer.sensornet.simulation.result import Mended, SimulationResult
from nilometer.types import SECOND

ROWS_AT_ONCE = 2_000_000
"""The most readings of a stretch, which bounds the memory."""

BEGIN = 1_767_225_600 * SECOND
"""The start of a run, unless another is given: 2026-01-01."""

REPAIRS = ("best", *STRATEGIES, "none")
"""The possible reactions to a death."""

Watch = Callable[[int, int], None]
"""A callback that gets the progress of the run: microseconds done, and microseconds in all."""


@dataclass(frozen=True)
class Conditions:
    """The conditions of the run. `losses`: links lose packets, by their quality. `repair`: one of REPAIRS.
    `spares`: stand-ins prepared for each site (for `best` and `local`)."""

    seed: int = 0
    losses: bool = False
    clocks: Clocks | None = None
    kills: tuple[Kill, ...] = ()
    repair: str = "best"
    spares: int = 1
    batteries: bool = True


def simulate(
    placement: Placement,
    duration: int,
    conditions: Conditions | None = None,
    *,
    readings: Readings | None = None,
    extents: Extents | None = None,
    begin: int = BEGIN,
    take: Callable[[pl.DataFrame], None] | None = None,
    watch: Watch | None = None,
) -> SimulationResult:
    """Run the placement for `duration` microseconds, rounded up to whole periods. `take` gets the answers as
    they come; without it they are kept in the result."""
    run = _SimulationRun(
        placement, duration, conditions or Conditions(), readings, extents, begin, take, watch
    )
    return run.whole()


class _SimulationRun:
    def __init__(
        self,
        placement: Placement,
        duration: int,
        conditions: Conditions,
        readings: Readings | None,
        extents: Extents | None,
        begin: int,
        take: Callable[[pl.DataFrame], None] | None,
        watch: Watch | None,
    ) -> None:
        _check(placement, duration, conditions)
        self._conditions = conditions
        self._readings = readings or SyntheticReadings(conditions.seed)
        self._extents = extents or MemorySources()
        self._take, self._watch = take, watch
        self._kept: list[pl.DataFrame] = []
        self._events = Events(begin)
        self._until = begin + duration
        self._kills = sorted(conditions.kills, key=lambda kill: kill.after)
        self._dead: dict[NodeId, int] = {}  # the virtual time of each death
        radio = RadioBooks.empty(len(placement.network.nodes))
        self.result = SimulationResult(placement, EnergyLedger(placement.network), radio, begin)
        self._overlay = Overlay({})
        self._install(placement)
        if conditions.repair in ("best", "local") and conditions.spares:
            self._prepare(placement)

    def whole(self) -> SimulationResult:
        """Run from the start to the end."""
        self._events.at(self._events.now, self._stretch)
        self._events.run()
        result = self.result
        result.duration = self._events.now - result.begin
        if self._take is None:
            result.answers = pl.concat(self._kept) if self._kept else None
        return result

    # ---- stretches ---------------------------------------------------------------------------------------------------

    def _install(self, placement: Placement) -> None:
        self._placement = placement
        self._execution = Execution(placement, self._readings, self._extents, self._events.now)
        self._numbers = self._execution.numbers
        self._done = 0  # periods of this placement
        self._most = most_in_a_period(self._numbers, self._conditions.clocks)
        self._rows = max(1, placement.beta * len(placement.routing.sources))

    @property
    def _period(self) -> int:
        return self._execution.interval * self._placement.beta

    def _stretch(self) -> None:
        """Run all whole periods before the next event, or else the one period in which it happens."""
        now = self._events.now
        if now >= self._until or self.result.ended is not None:
            return
        left = -(-(self._until - now) // self._period)
        quiet = min(left, self._quiet_periods(now))
        if quiet:
            end = self._run_periods(min(quiet, max(1, ROWS_AT_ONCE // self._rows)))
            self._events.at(end, self._stretch)
        else:
            dying = self._deaths(now)
            self._dead |= dying
            self._events.at(self._run_periods(1), lambda: self._mend(dying))

    def _run_periods(self, periods: int) -> int:
        """Run the periods, and return the time at which they end."""
        now = self._events.now
        air = Air(self._conditions.seed, self._conditions.losses, self._conditions.clocks, self._silent(now))
        answer, books = self._execution.run(self._done, periods, air)
        self._done += periods
        self.result.periods += periods
        self._charge(books, periods, now)
        self._give(answer)
        end = now + periods * self._period
        if self._watch is not None:
            self._watch(end - self.result.begin, self._until - self.result.begin)
        return end

    def _silent(self, now: int) -> Integers | None:
        """For each site, the tick of its period from which it is dead."""
        here = {node: when for node, when in self._dead.items() if node in self._placement.routing}
        if not here:
            return None
        found = np.full(len(self._numbers), -1, dtype=np.int64)
        for node, when in here.items():
            ticks = max(0, when - now) * self._placement.agenda.tick_rate // SECOND
            found[self._numbers.number[node]] = ticks
        return found

    def _charge(self, books: RadioBooks, periods: int, now: int) -> None:
        alive = np.full(len(self._numbers), float(periods))
        for node, when in self._dead.items():
            if node in self._placement.routing:
                alive[self._numbers.number[node]] = min(1.0, max(0, when - now) / self._period)
        self.result.ledger.add(self._numbers, books, alive, self._conditions.clocks)
        self.result.radio.add_at(self.result.ledger.rows(self._numbers.sites), books)

    def _give(self, answer: pl.DataFrame) -> None:
        self.result.answer_rows += answer.height
        if not answer.height:
            return
        if self._take is None:
            self._kept.append(answer)
        else:
            self._take(answer)

    # ---- deaths ------------------------------------------------------------------------------------------------------

    def _quiet_periods(self, now: int) -> int:
        """The number of periods from now on in which no node can die."""
        found = np.iinfo(np.int64).max
        for kill in self._kills:
            if kill.node not in self._dead:
                found = min(found, (self.result.begin + kill.after - now) // self._period)
        if self._conditions.batteries:
            for number, site in enumerate(self._numbers.sites):
                left = self.result.ledger.left(site)
                if left != np.inf and site not in self._dead:
                    found = min(found, int(left // self._most[number]))
        return max(0, int(found))

    def _deaths(self, now: int) -> dict[NodeId, int]:
        """The nodes that die in the period that starts now, and when."""
        dying: dict[NodeId, int] = {}
        for kill in self._kills:
            when = self.result.begin + kill.after
            if kill.node not in self._dead and when < now + self._period:
                dying[kill.node] = when
                self.result.deaths.append(Death(kill.node, kill.after, "killed"))
        for number, site in enumerate(self._numbers.sites):
            left = self.result.ledger.left(site)
            if not self._conditions.batteries or left == np.inf or site in self._dead or site in dying:
                continue
            if left < self._most[number]:
                when = now + int(left / self._most[number] * self._period)
                dying[site] = when
                self.result.deaths.append(Death(site, when - self.result.begin, "battery"))
        return dying

    def _prepare(self, placement: Placement) -> None:
        """Load the programs of sites into their stand-ins, if any node is going to die in this run."""
        lifetime = placement.estimate.lifetime
        dry = lifetime is not None and (self._until - self.result.begin) / SECOND > lifetime
        periods = -(-(self._until - self.result.begin) // self._period)
        killed = any(kill.after < periods * self._period for kill in self._kills)
        if not killed and not (dry and self._conditions.batteries):
            return
        self._overlay = prepare_overlay(placement, self._conditions.spares)
        self.result.prepared = preloaded(placement, self._overlay.spares)
        self._spend(self.result.prepared.joules)

    def _mend(self, dying: Collection[NodeId]) -> None:
        """Repair after the period in which a node died, and go on."""
        gone = tuple(node for node in dying if node in self._placement.routing)
        if gone:
            self._repair(gone)
        self._events.at(self._events.now, self._stretch)

    def _repair(self, gone: tuple[NodeId, ...]) -> None:
        after = self._events.now - self.result.begin
        wanted = self._conditions.repair
        if wanted == "none":
            self.result.mended.append(Mended(after, gone, (), None))
            self._check_alive()
            return
        ledger = self.result.ledger
        left = {node: ledger.left(node) for node in ledger.nodes if ledger.left(node) != np.inf}
        weighed = repairs(self._placement, self._dead.keys(), left, self._overlay)
        chosen = best_repair([r for r in weighed if wanted in ("best", r.strategy)])
        if chosen is None and wanted not in ("best", "none"):
            chosen = best_repair(weighed)  # the wanted repair is not feasible: take another rather than none
        self.result.mended.append(Mended(after, gone, weighed, chosen))
        if chosen is None:
            self.result.ended = weighed[-1].reason
            return
        self._adopt(chosen)

    def _adopt(self, repair: Repair) -> None:
        assert repair.placement is not None
        self._spend(repair.dissemination.joules)
        before = self._placement.routing
        self._install(repair.placement)
        told = repair.dissemination
        fresh = {*told.reprogrammed, *told.activated}
        kept = [site for site in repair.placement.routing.post_order if site in before and site not in fresh]
        self._execution.remember(kept, self.result.begin)
        if self._conditions.repair in ("best", "local") and self._conditions.spares:
            self._overlay = prepare_overlay(repair.placement, self._conditions.spares)

    def _check_alive(self) -> None:
        """End the run if no node is left that senses."""
        if all(source in self._dead for source in self._placement.routing.sources):
            self.result.ended = "all nodes that sense are dead"

    def _spend(self, joules: Mapping[NodeId, float]) -> None:
        """Charge a dissemination to the radio, which takes nearly all of it."""
        for node, amount in joules.items():
            self.result.ledger.spend(node, radio_receive=amount)


def _check(placement: Placement, duration: int, conditions: Conditions) -> None:
    if duration <= 0:
        raise ConfigurationError(
            "nothing to simulate", detail=f"the duration is {duration} us", hint="give more than 0"
        )
    if conditions.repair not in REPAIRS:
        raise ConfigurationError(f"no repair '{conditions.repair}'", hint=f"there are {', '.join(REPAIRS)}")
    if conditions.clocks is not None:
        agenda = placement.agenda
        conditions.clocks.check(agenda.seconds(agenda.alpha), agenda.seconds(agenda.period))
    killed = [kill.node for kill in conditions.kills]
    for kill in conditions.kills:
        if killed.count(kill.node) > 1:
            raise ConfigurationError(f"node {kill.node!r} is killed twice", hint="say once when it dies")
        placement.network.node(kill.node)  # refuses a node that does not exist
        if kill.node == placement.network.sink:
            raise ConfigurationError(
                "the sink cannot be killed", hint="without it no answer is delivered; kill another node"
            )
