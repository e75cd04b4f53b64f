"""The simulator of a placed plan: a `Placement` and readings -> answers at the sink, energy of every node, losses, repairs.

    simulate(placement, duration, Conditions(seed=7, losses=True)) -> SimulationResult

The law: where nothing is lost, the answers are those of the reference evaluator over the same readings. The fragments are run by the
gateway's dataflow, for all sites of one depth and many periods at once (`execution.py`), packets are counted or lost one by one
(`counting.py`, `hops.py`), energy follows from the agenda and from what was sent (`ledger.py`), a death is answered by the
best of three repairs (`repair/`). Everything follows from the seed; how long a stretch is run at once changes nothing.
"""

from nilometer.sensornet.simulation.clocks import Clocks
from nilometer.sensornet.simulation.happenings import Death, Kill, parse_kill
from nilometer.sensornet.simulation.ledger import COMPONENTS, EnergyLedger
from nilometer.sensornet.simulation.readings import Readings, RecordedReadings, SyntheticReadings
from nilometer.sensornet.simulation.result import Mended, SimulationResult
from nilometer.sensornet.simulation.run import BEGIN, REPAIRS, Conditions, simulate

__all__ = [
    "BEGIN",
    "COMPONENTS",
    "REPAIRS",
    "Clocks",
    "Conditions",
    "Death",
    "EnergyLedger",
    "Kill",
    "Mended",
    "Readings",
    "RecordedReadings",
    "SimulationResult",
    "SyntheticReadings",
    "parse_kill",
    "simulate",
]
