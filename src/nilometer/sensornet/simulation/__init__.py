"""The simulator of a placed plan: a `Placement` and readings -> answers at the sink, energy of every node,
losses, repairs.

    simulate(placement, duration, Conditions(seed=7, losses=True)) -> SimulationResult

The law: where nothing is lost, the answers are those of the reference evaluator over the same readings. The
gateway's dataflow runs the fragments, for all sites of one depth and many periods at once (`execution.py`).
Packets are counted, or lost one by one (`counting.py`, `hops.py`). Energy follows from the agenda and from
the packets sent (`ledger.py`). After a death, the best of three repairs is made (`repair/`). Everything
follows from the seed; the length of the stretches that are run at once changes nothing.
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
