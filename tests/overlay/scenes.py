"""Streams, peers and a naive oracle for tests of joins among peers."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import polars as pl

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.peer import Peer, Settings
from nilometer.overlay.ring import Contact
from nilometer.overlay.simulator import Faults, Network
from nilometer.types import INT_MINIMUM, MILLISECOND, SECOND

Row = dict[str, Any]


class Memory:
    """A stream's readings, which outlive the process of its home, as a log does."""

    whole_since = INT_MINIMUM

    def __init__(self) -> None:
        self.rows = pl.DataFrame()

    def since(self, moment: int) -> pl.DataFrame:
        return self.rows if not self.rows.height else self.rows.filter(pl.col("@time") >= moment)

    def add(self, rows: pl.DataFrame) -> None:
        self.rows = rows if not self.rows.height else pl.concat([self.rows, rows])

    @property
    def greatest(self) -> int | None:
        return None if not self.rows.height else int(self.rows.get_column("@time").max())


def results(plan: JoinPlan, streams: dict[str, pl.DataFrame], start: int) -> list[tuple[int, ...]]:
    """The positions of all results, by trying every combination."""
    rows = [[row for row in streams[one.stream].to_dicts() if row["@time"] >= start] for one in plan.inputs]
    found: list[tuple[Row, ...]] = [()]
    for number in range(len(rows)):
        found = [(*members, row) for members in found for row in rows[number] if _fits(plan, (*members, row))]
    return sorted(tuple(member["@position"] for member in members) for members in found)


def _fits(plan: JoinPlan, members: tuple[Row, ...]) -> bool:
    new = len(members) - 1
    times = [member["@time"] for member in members]
    near = all(
        times[new] - times[i] <= plan.widths[i][new] and times[i] - times[new] <= plan.widths[new][i]
        for i in range(new)
    )
    values = [[members[at][column] for at, column in one if at <= new] for one in plan.classes]
    return near and all(len(set(one)) <= 1 and None not in one for one in values)


@dataclass
class Scene:
    """Readings of several streams that come at their homes while a question runs. Homes can be away."""

    plan: JoinPlan
    peers: int = 4
    seed: int = 0
    faults: Faults = field(default_factory=Faults)
    settings: Settings = field(default_factory=lambda: Settings(slack=20 * SECOND))
    seconds: int = 20
    rate: float = 2.0
    values: int = 3
    away: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Streams without readings, from second to second: their sensors are off."""

    def __post_init__(self) -> None:
        self.network = Network(self.seed, self.faults)
        random = Random(self.seed)
        self.contacts = [Contact(random.getrandbits(64), f"p{at}", f"p{at}") for at in range(self.peers)]
        self.network.settled(self.contacts, self.settings)
        self.memories = {one.stream: Memory() for one in self.plan.inputs}
        self.homes = {
            stream: self.contacts[at % self.peers].address for at, stream in enumerate(self.memories)
        }
        for stream in self.memories:
            self.at_home(stream, None)
        self.start = SECOND
        self.answers: list[pl.DataFrame] = []
        self.ended: dict[str, list[pl.DataFrame]] = {}
        """What came of other questions until they were dropped."""
        self.asker = self.contacts[-1].address
        self._plan_readings(random)

    def at_home(self, stream: str, greatest: int | None) -> None:
        peer = self.network.peers.get(self.homes[stream])
        if peer is not None:
            peer.home(stream, self.memories[stream], greatest)

    def _plan_readings(self, random: Random) -> None:
        self.network.at(SECOND, self._ask)
        for stream, memory in self.memories.items():
            columns = sorted({c for one in self.plan.inputs if one.stream == stream for c in one.columns})
            count = 0
            for tick in range(4 * (self.seconds + 30)):
                moment = tick * SECOND // 4
                rows = []
                off, on = self.away.get(stream, (0, 0))
                if moment < self.seconds * SECOND and not off * SECOND <= moment < on * SECOND:
                    for _ in range(int(random.random() * self.rate)):
                        values = {
                            c: None if random.random() < 0.05 else random.randrange(self.values)
                            for c in columns
                        }
                        rows.append({"@position": count, "@time": moment - random.randrange(SECOND)} | values)
                        count += 1
                schema = {"@position": pl.Int64, "@time": pl.Int64} | dict.fromkeys(columns, pl.Int64)
                frame = pl.DataFrame(rows, schema=schema)
                self.network.at(moment + MILLISECOND, self._offering(stream, memory, frame, moment - SECOND))

    def _offering(self, stream: str, memory: Memory, rows: pl.DataFrame, watermark: int) -> Any:
        def offer() -> None:
            off, on = self.away.get(stream, (0, 0))
            if off * SECOND <= self.network.now < on * SECOND:
                return  # nor does its home say anything
            if rows.height:
                memory.add(rows)
            peer = self.network.peers.get(self.homes[stream])
            if peer is not None and peer.indexing.is_home(stream.lower()):
                peer.offer(self.network.now, stream, rows, watermark)
                self.network.carry()

        return offer

    def _ask(self) -> None:
        self.network.peers[self.asker].ask(self.network.now, "q", self.plan, self.start)
        self.network.carry()

    def restart(self, address: str) -> None:
        """Begin the peer of this address anew. Its streams have what came meanwhile."""
        me = next(one for one in self.contacts if one.address == address)
        via = next(iter(self.network.peers))
        self.network.add(me, self.settings, via=via)
        for stream, home in self.homes.items():
            if home == address:
                self.at_home(stream, self.memories[stream].greatest)

    def run(self) -> list[tuple[int, ...]]:
        """All results that came, by the positions of their members."""
        self.network.run((self.seconds + 60) * SECOND)
        return self.found()

    def found(self) -> list[tuple[int, ...]]:
        frames = self.network.peers[self.asker].asked["q"].taken()
        ids = [f"@position{at}" for at in range(len(self.plan.inputs))]
        return sorted(row for frame in frames for row in frame.select(ids).rows())

    @property
    def expected(self) -> list[tuple[int, ...]]:
        return results(self.plan, {name: memory.rows for name, memory in self.memories.items()}, self.start)


def total(network: Network, name: str) -> int:
    """A number of the books of all peers."""
    return sum(getattr(peer.books, name) for peer in network.peers.values())


def peers_of(scene: Scene) -> list[Peer]:
    return list(scene.network.peers.values())
