"""Repairs after a death (left open by SNEE; the released code's branches of 2011 to 2013): three ways to go
on, and the best one.

- `global`: the query is compiled again without the dead node;
- `partial`: fragments stay where they are, and only sites that lost their route get another;
- `local`: a spare node that was prepared for this takes the dead node's place (a k-resilient overlay).

Each gives a `Repair`: a placement, the cost of telling the nodes (`Dissemination`), and how long the network
then lives.
"""

from nilometer.sensornet.simulation.repair.choose import Repair, best_repair, repairs
from nilometer.sensornet.simulation.repair.dissemination import Dissemination, disseminate
from nilometer.sensornet.simulation.repair.overlay import Overlay, prepare_overlay
from nilometer.sensornet.simulation.repair.survivors import survivors

__all__ = [
    "Dissemination",
    "Overlay",
    "Repair",
    "best_repair",
    "disseminate",
    "prepare_overlay",
    "repairs",
    "survivors",
]
