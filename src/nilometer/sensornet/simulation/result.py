"""The result of a simulation."""

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
    """The reaction to deaths: the repairs that were compared, and the chosen one (None: none is feasible, or
    none was wanted)."""

    after: int
    dead: tuple[NodeId, ...]
    weighed: tuple[Repair, ...]
    chosen: Repair | None


@dataclass
class SimulationResult:
    """`answers`: the rows at the sink, unless the caller took them as they came. `radio`: by node, in the
    order of the ledger. Times are microseconds from the start."""

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
    """Why the run ended early."""

    @property
    def packets(self) -> int:
        """Transmissions of all nodes."""
        return int(self.radio.sent.sum())

    @property
    def packets_lost(self) -> int:
        """Packets that never arrived."""
        return int(self.radio.lost.sum())

    @property
    def lost_by_reason(self) -> dict[str, int]:
        """Packets that never arrived, by reason."""
        return {name: int(count) for name, count in zip(REASONS, self.radio.lost_by.sum(axis=1), strict=True)}

    @property
    def tuples_lost(self) -> int:
        """Tuples in the packets that never arrived."""
        return int(self.radio.tuples_lost.sum())

    def energy(self, *, with_sink: bool = False) -> float:
        """Joules of all nodes; without the sink, which does not run on a battery, unless `with_sink`."""
        sink = self.placement.network.sink
        rows = [row for row, node in enumerate(self.ledger.nodes) if with_sink or node != sink]
        return float(self.ledger.joules[rows].sum())

    def lifetimes(self) -> dict[NodeId, float]:
        """Seconds that the energy of each participating node lasts if it continues as before. Programs that
        were sent are paid for once."""
        found: dict[NodeId, float] = {}
        for row, node in enumerate(self.ledger.nodes):
            spent, stock = float(self.ledger.joules[row].sum()), float(self.ledger.stock[row])
            if self.ledger.seconds[row] > 0 and stock != float("inf"):
                once = float(self.ledger.once[row])
                found[node] = max(0.0, stock - once) / (spent - once) * float(self.ledger.seconds[row])
        return found
