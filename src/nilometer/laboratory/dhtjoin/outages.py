"""Intermediate tuples while a stream is away, without and with suspend (Fig. 5): q2 on eight simulated peers.

The home of Z fails and returns; X and Y go on. The peers of X and Y's join count the tuples that they ship to those of
the join with Z (`Books.intermediate`), and the answers of both runs are compared with each other.

A pair of X and Y is useless if no reading of Z can join it: Z was away at all moments that are within the window of
both. Other pairs of an outage are needed: soon after its begin they join what Z had sent before it, and shortly before its
end what Z sends after it. So outages of up to a window make no useless pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.peer import Settings
from nilometer.overlay.ring import Contact
from nilometer.overlay.simulator import Network
from nilometer.types import INT_MINIMUM, MILLISECOND, SECOND

BEGIN = 60.0
"""Z goes away at this second: all windows are full."""


@dataclass(frozen=True)
class Outage:
    """What a run shipped, how many pairs were useless, and the positions of its results."""

    intermediate: int
    indexed: int
    useless: int
    results: list[tuple[int, ...]]


class _Readings:
    whole_since = INT_MINIMUM

    def __init__(self) -> None:
        self.rows = pl.DataFrame()

    def add(self, rows: pl.DataFrame) -> None:
        self.rows = rows if not self.rows.height else pl.concat([self.rows, rows])

    def since(self, moment: int) -> pl.DataFrame:
        return self.rows.filter(pl.col("@time") >= moment) if self.rows.height else self.rows


def q2(window: int) -> JoinPlan:
    """The paper's q2: X.B = Y.B and Y.C = Z.C."""
    return JoinPlan.of(
        [("X", ("B",)), ("Y", ("B", "C")), ("Z", ("C",))],
        [((0, "B"), (1, "B")), ((1, "C"), (2, "C"))],
        window,
    )


def run(
    outage: float,
    *,
    suspends: bool,
    window: float = 50,
    rate: float = 400,
    values: int = 40_000,
    seconds: float = 220,
    begin: float = BEGIN,
    step: float = 2,
    seed: int = 1,
) -> Outage:
    """Z is away for `outage` seconds from second `begin` on. Readings are offered every `step` seconds."""
    between = int(step * SECOND)
    random = np.random.default_rng(seed)
    network = Network(seed, tick=SECOND)
    plan = q2(int(window * SECOND))
    places = random.integers(0, 2**63, 8).tolist()
    contacts = [Contact(place, f"p{at}", f"p{at}") for at, place in enumerate(places)]
    settings = Settings(replicas=0, slack=5 * SECOND, suspends=suspends, silent=2 * SECOND)
    peers = network.settled(contacts, settings)
    homes = {"X": peers[7], "Y": peers[6], "Z": peers[3]}
    sources = {name: _Readings() for name in homes}
    for name, peer in homes.items():
        peer.home(name, sources[name])
    away = range(int(begin * SECOND), int((begin + outage) * SECOND))
    counts = dict.fromkeys(homes, 0)

    def offer(name: str, moment: int) -> None:
        gone = name == "Z" and moment in away
        count = 0 if gone or moment >= seconds * SECOND else int(rate * between / SECOND)
        rows = pl.DataFrame(
            {
                "@position": np.arange(counts[name], counts[name] + count),
                "@time": moment + np.sort(random.integers(0, between, count)),
                "B": random.integers(0, values, count),
                "C": random.integers(0, values, count),
            }
        )
        counts[name] += count
        if gone:
            homes[name].indexing.end(name.lower())
            return
        if not homes[name].indexing.is_home(name.lower()):
            homes[name].home(name, sources[name], int(sources[name].rows.get_column("@time").max()))  # type: ignore[arg-type]
        sources[name].add(rows)
        homes[name].offer(network.now, name, rows, moment + between)
        network.carry()

    def ask() -> None:
        peers[0].ask(network.now, "q2", plan, 0)
        network.carry()

    network.at(0, ask)
    for moment in range(0, int((seconds + 2 * window + 10) * SECOND), between):
        for name in homes:
            network.at(moment + between + MILLISECOND, lambda name=name, moment=moment: offer(name, moment))  # type: ignore[misc]
    network.run(int((seconds + 2 * window + 20) * SECOND))
    ids = [f"@position{at}" for at in range(3)]
    found = sorted(row for rows in peers[0].asked["q2"].taken() for row in rows.select(ids).rows())
    books = [peer.books for peer in peers]
    useless = _useless(sources["X"].rows, sources["Y"].rows, away, plan.reach)
    return Outage(sum(one.intermediate for one in books), sum(one.indexed for one in books), useless, found)


def _useless(xs: pl.DataFrame, ys: pl.DataFrame, away: range, reach: int) -> int:
    """How many pairs of X and Y no reading of Z could join, since Z sent none in (begin, end) of its outage."""
    pairs = xs.select("B", x="@time").join(ys.select("B", y="@time"), on="B")
    near = (pl.col("x") - pl.col("y")).abs() <= reach
    before = pl.max_horizontal("x", "y") - reach < away.start
    after = pl.min_horizontal("x", "y") + reach >= away.stop
    return pairs.filter(near & ~before & ~after).height
