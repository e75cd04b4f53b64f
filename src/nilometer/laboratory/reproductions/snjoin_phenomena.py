"""SNJoin's overall measure, detected phenomena updates per second: Figs. 8d, 9d, 10 and 11 (snjoin.txt section 7.2).

Phenomena are those of docs/phenomena.md, with each of the joins as phase 1. On one server, readings that a join has
no time for are dropped at random from its queue (snjoin_central.py). In the network, an update is detected if the
answers that have reached the sink tell it (snjoin_network.py); heads, too, drop what they have no time for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nilometer.laboratory.reproductions.snjoin_central import snjoin_central
from nilometer.laboratory.reproductions.snjoin_network import snjoin_network

FLEET = (200, 1000, 2000)
NETWORK = (200, 1000, 2000)
SECONDS = (60, 60, 180)


def snjoin_phenomena(
    board_sizes: Sequence[int] = (5, 15, 25),
    fleet_sizes: Sequence[int] = FLEET,
    network_sizes: Sequence[int] = NETWORK,
    seconds: tuple[int, int, int] = SECONDS,
    network_seconds: int = 30,
    seed: int = 2006,
) -> dict[str, Any]:
    """The figures, for fewer sizes than `snjoin-central` and `snjoin-network` have. `seconds` are those of the
    board, the fleet and the changing fleet."""
    central = snjoin_central(board_sizes, fleet_sizes, seconds, seed)
    network = snjoin_network(network_sizes, network_seconds, seed=seed)
    wanted = ("One answer", "Fig. 8d", "Fig. 9d", "Figs. 8d", "Fig. 10", "Section 5.1", "Fig. 11")
    return {
        "name": "snjoin-phenomena",
        "title": "Detected updates of phenomena: SNJoin, the outer MJoin, a tree of hash-merge joins, and the distributed joins (section 7.2)",
        "figures": {
            name: figure
            for name, figure in {**central["figures"], **network["figures"]}.items()
            if name.startswith(wanted)
        },
        "assumptions": [
            *(f"one server: {each}" for each in central["assumptions"]),
            *(f"network: {each}" for each in network["assumptions"] if not each.startswith(_OTHER)),
        ],
    }


_OTHER = "drop rate"
"""The beginning of an assumption about a figure that is left out here."""
