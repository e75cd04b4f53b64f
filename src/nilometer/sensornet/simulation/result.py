"""What a simulation found."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from nilometer.catalog.network import NodeId
from nilometer.placement import Placement
from nilometer.sensornet.simulation.books import RadioBooks
from nilometer.sensornet.simulation.happenings import Death
from nilometer.sensornet.simulation.ledger import EnergyLedger
from nilometer.sensornet.simulation.repair import Dissemination, Repair
from nilometer.sensornet.simulation.slots import REASONS


@dataclass(frozen=True)
class Mended:
    """What was done about deaths: the repairs that were weighed, and the one that was chosen (None: none can be, or none was
    wanted)."""

    after: int
    dead: tuple[NodeId, ...]
    weighed: tuple[Repair, ...]
    chosen: Repair | None


@dataclass
class SimulationResult:
    """`answers`: the rows at the sink, unless somebody took them as they came. `radio`: by node, in the order of the ledger. Times are
    microseconds from the beginning."""

    placement: Placement
    ledger: EnergyLedger
    radio: RadioBooks
    begin: int
    duration: int = 0
    periods: int = 0
    answer_rows: int = 0
    answers: pl.DataFrame | None = None
    deaths: list[Death] = field(default_factory=list)
    mended: list[Mended] = field(default_factory=list)
    prepared: Dissemination | None = None
    ended: str | None = None
    """Why it ended before its time."""

    @property
    def packets(self) -> int:
        """Sendings of all nodes."""
        return int(self.radio.sent.sum())

    @property
    def packets_lost(self) -> int:
        """Packets that never arrived."""
        return int(self.radio.lost.sum())

    @property
    def lost_by_reason(self) -> dict[str, int]:
        """The same, by what became of them."""
        return {name: int(count) for name, count in zip(REASONS, self.radio.lost_by.sum(axis=1), strict=True)}

    @property
    def tuples_lost(self) -> int:
        """Tuples in them."""
        return int(self.radio.tuples_lost.sum())

    def energy(self, *, with_sink: bool = False) -> float:
        """Joules of all nodes; the sink is tethered."""
        sink = self.placement.network.sink
        rows = [row for row, node in enumerate(self.ledger.nodes) if with_sink or node != sink]
        return float(self.ledger.joules[rows].sum())

    def lifetimes(self) -> dict[NodeId, float]:
        """Seconds that each node that took part lasts on its stock if it goes on as it did. Programs that were sent are paid once."""
        found: dict[NodeId, float] = {}
        for row, node in enumerate(self.ledger.nodes):
            spent, stock = float(self.ledger.joules[row].sum()), float(self.ledger.stock[row])
            if self.ledger.seconds[row] > 0 and stock != float("inf"):
                once = float(self.ledger.once[row])
                found[node] = max(0.0, stock - once) / (spent - once) * float(self.ledger.seconds[row])
        return found
