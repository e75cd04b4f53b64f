"""An hour of virtual time: what peers keep does not grow, and is within its bound."""

from __future__ import annotations

import polars as pl
import pytest

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.peer import Settings
from nilometer.overlay.ring import contact
from nilometer.overlay.simulator import Network
from nilometer.types import MINUTE, SECOND
from overlay.scenes import Memory

WINDOW, SLACK = 5 * SECOND, 10 * SECOND
PLAN = JoinPlan.of([("X", ("B",)), ("Y", ("B",))], [((0, "B"), (1, "B"))], WINDOW)


@pytest.mark.long
def test_an_hour_of_readings_leaves_no_trace() -> None:
    """One key in four is hot: half of all rows have it. Its owner keeps the most, and no more after an hour."""
    network = Network(1)
    contacts = [contact(f"p{at}", f"p{at}") for at in range(5)]
    network.settled(contacts, Settings(slack=SLACK))
    homes = dict(zip("XY", (contacts[0].address, contacts[1].address), strict=True))
    memories = {stream: Memory() for stream in homes}
    for stream, home in homes.items():
        network.peers[home].home(stream, memories[stream], None)
    asker = network.peers[contacts[4].address]
    network.at(SECOND, lambda: asker.ask(network.now, "q", PLAN, SECOND))
    kept: list[dict[str, int]] = []
    results = 0
    for second in range(2, 3600):
        for stream, home in homes.items():

            def offer(stream: str = stream, home: str = home, second: int = second) -> None:
                rows = pl.DataFrame(
                    {
                        "@position": [2 * second, 2 * second + 1],
                        "@time": [second * SECOND, second * SECOND + 1],
                        "B": [0, second % 4],
                    }
                )
                memory = memories[stream]
                memory.add(rows)
                memory.rows = memory.since(second * SECOND - MINUTE)
                network.peers[home].offer(network.now, stream, rows, second * SECOND)
                network.carry()

            network.at(second * SECOND + SECOND // 2, offer)
        if second % 60 == 0:
            network.run(second * SECOND)
            results += sum(frame.height for frame in asker.asked["q"].taken())
            kept.append({address: peer.joining.kept for address, peer in network.peers.items()})
    # Four rows a second for the window and the slack, of both streams; copies have as much room again.
    bound = 4 * (WINDOW + SLACK + 2 * SECOND) // SECOND
    busiest = [max(one.values()) for one in kept]
    print(
        f"{results:,} results; the busiest peer keeps {busiest[5]} rows after 5 minutes, {busiest[-1]} after an hour"
    )
    assert results > 3600 * 5
    assert max(busiest[5:]) <= 2 * bound
    assert max(busiest[-10:]) <= max(busiest[5:15]) + 4
