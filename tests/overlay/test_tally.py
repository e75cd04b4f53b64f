"""Aggregates of joins at the peers equal counting all combinations, tick by tick: loss, doubles, reordering, crashes,
restarts, joins and leaves. None of the joined rows is sent."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl
import pytest

from nilometer.overlay.peer import Settings
from nilometer.overlay.ring import Contact
from nilometer.overlay.simulator import Faults, Network
from nilometer.overlay.tally.tally_plan import Group, Item, Side, TallyPlan
from nilometer.types import INT_MINIMUM, MILLISECOND, SECOND

PAIR = TallyPlan(
    (Side("X", 4 * SECOND, ("v",)), Side("Y", 2 * SECOND, ("u",))),
    SECOND,
    8,
    "x.b=y.b",
    (),
    (
        Item("count"),
        Item("sum", 0, "v", whole=True),
        Item("min", 1, "u"),
        Item("max", 1, "u"),
        Item("count", 1, "u"),
    ),
)
GROUPED = TallyPlan(
    (Side("X", 3 * SECOND, ("g", "v")), Side("Y", 3 * SECOND), Side("Z", 5 * SECOND, ("v",))),
    SECOND,
    8,
    "b",
    (Group(0, "g"),),
    (Item("count"), Item("sum", 2, "v", whole=True)),
)
ROUGH = Faults(loss=0.1, doubles=0.1, delay=(1 * MILLISECOND, 900 * MILLISECOND))
SECONDS = 14


class Memory:
    whole_since = INT_MINIMUM

    def __init__(self) -> None:
        self.rows = pl.DataFrame()

    def since(self, moment: int) -> pl.DataFrame:
        return self.rows if not self.rows.height else self.rows.filter(pl.col("@time") >= moment)

    def add(self, rows: pl.DataFrame) -> None:
        self.rows = rows if not self.rows.height else pl.concat([self.rows, rows])


class Scene:
    """Readings come at their homes p0, p1, ... while the last peer asks."""

    def __init__(self, plan: TallyPlan, seed: int, faults: Faults | None = None, peers: int = 6) -> None:
        self.plan, self.random = plan, Random(seed)
        self.network = Network(seed, faults)
        self.settings = Settings(slack=60 * SECOND)
        self.contacts = [Contact(self.random.getrandbits(64), f"p{at}", f"p{at}") for at in range(peers)]
        self.network.settled(self.contacts, self.settings)
        self.memories = {side.stream: Memory() for side in plan.sides}
        self.homes = {stream: f"p{at}" for at, stream in enumerate(self.memories)}
        self.marks = dict.fromkeys(self.memories, 0)
        self.asker, self.start = f"p{peers - 1}", SECOND
        self.answers: list[tuple[int, pl.DataFrame]] = []
        for stream, address in self.homes.items():
            self.network.peers[address].home(stream, self.memories[stream])
            for tick in range(4 * (SECONDS + 40)):
                self.network.at(tick * SECOND // 4 + MILLISECOND, self._offering(stream, tick * SECOND // 4))
        self.network.at(SECOND, self._ask)

    def _ask(self) -> None:
        self.network.peers[self.asker].ask_tally(self.network.now, "q", self.plan, self.start)
        self.network.carry()

    def _offering(self, stream: str, moment: int) -> Any:
        random, columns = self.random, self.plan.sides[list(self.memories).index(stream)].columns

        def offer() -> None:
            memory, rows = self.memories[stream], []
            count = random.randrange(4) if moment < SECONDS * SECOND else 0
            for at in range(count):
                values: dict[str, Any] = {"key": None if random.random() < 0.05 else random.randrange(4)}
                values |= {name: None if random.random() < 0.1 else random.randrange(9) for name in columns}
                times = {"@position": memory.rows.height + at, "@time": moment - random.randrange(SECOND)}
                rows.append(times | values)
            names = ("@position", "@time", "key", *columns)
            frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64))
            memory.add(frame)
            self.marks[stream] = moment - SECOND
            peer = self.network.peers.get(self.homes[stream])
            if peer is not None and peer.indexing.is_home(stream.lower()):
                peer.offer(self.network.now, stream, frame, self.marks[stream])
                self.network.carry()

        return offer

    def restart(self, address: str) -> None:
        me = next(one for one in self.contacts if one.address == address)
        self.network.add(me, self.settings, via=next(iter(self.network.peers)))
        for stream, home in self.homes.items():
            if home == address:
                self.network.peers[address].home(stream, self.memories[stream])

    def run(self) -> dict[int, list[tuple[Any, ...]]]:
        self.network.run((SECONDS + 50) * SECOND)
        taken = self.network.peers[self.asker].tallies.asked["q"].taken()
        ticks = [tick for tick, _ in taken]
        assert ticks == sorted(set(ticks))
        return {tick: sorted(rows.rows(), key=str) for tick, rows in taken}

    def expected(self, tick: int) -> list[tuple[Any, ...]]:
        """By trying every combination."""
        found: list[list[dict[str, Any]]] = [[]]
        for side in self.plan.sides:
            rows = [
                row
                for row in self.memories[side.stream].rows.to_dicts()
                if tick - side.width < row["@time"] <= tick
                and row["@time"] >= self.start
                and row["key"] is not None
            ]
            found = [[*one, row] for one in found for row in rows if not one or one[0]["key"] == row["key"]]
        groups: dict[tuple[Any, ...], list[list[dict[str, Any]]]] = {} if self.plan.groups else {(): []}
        for one in found:
            groups.setdefault(tuple(one[g.side][g.column] for g in self.plan.groups), []).append(one)
        return sorted(((*key, *self._values(rows)) for key, rows in groups.items()), key=str)

    def _values(self, rows: list[list[dict[str, Any]]]) -> list[Any]:
        values: list[Any] = [len(rows)]
        for item in self.plan.items:
            if item.column is None:
                continue
            given = [v for row in rows if (v := row[item.side][item.column]) is not None]
            values.append(len(given))
            if item.function == "sum":
                values.append(sum(given))
            elif item.function != "count":
                values.append({"min": min, "max": max}[item.function](given, default=None))
        return values


def check(scene: Scene) -> None:
    found = scene.run()
    assert max(found) >= (SECONDS + 5) * SECOND
    assert len(found) == (max(found) - min(found)) // SECOND + 1
    assert min(found) <= 2 * SECOND
    for tick, rows in found.items():
        assert rows == scene.expected(tick), tick
    assert any(rows for rows in found.values())


@pytest.mark.parametrize("plan", [PAIR, GROUPED], ids=["2", "3 grouped"])
def test_loss_doubles_and_reordering_change_no_answer(plan: TallyPlan) -> None:
    check(Scene(plan, 1, ROUGH))


def test_an_owner_crashes_and_begins_anew() -> None:
    scene = Scene(GROUPED, 2)
    scene.network.at(6 * SECOND, lambda: scene.network.crash("p4"))
    scene.network.at(11 * SECOND, lambda: scene.restart("p4"))
    check(scene)


def test_a_home_crashes_and_begins_anew() -> None:
    scene = Scene(PAIR, 3)
    scene.network.at(6 * SECOND, lambda: scene.network.crash("p0"))
    scene.network.at(10 * SECOND, lambda: scene.restart("p0"))
    check(scene)


def test_peers_join_and_leave() -> None:
    scene = Scene(PAIR, 4)
    new = Contact(scene.random.getrandbits(64), "new", "new")
    scene.network.at(4 * SECOND, lambda: scene.network.add(new, scene.settings, via="p0"))

    def leave() -> None:
        scene.network.peers["p3"].leave(scene.network.now)
        scene.network.carry()

    scene.network.at(8 * SECOND, leave)
    scene.network.at(10 * SECOND, lambda: scene.network.crash("p3"))
    check(scene)


def test_no_joined_row_is_sent() -> None:
    """What owners send depends on groups and buckets, not on how many rows are joined."""
    scene = Scene(PAIR, 5)
    found = scene.run()
    joined = sum(rows[0][0] for rows in found.values())
    sent = sum(peer.books.results for peer in scene.network.peers.values())
    assert sent <= (len(found) + 2) * PAIR.buckets < joined * 4


@pytest.mark.long
def test_many_random_schedules() -> None:
    for seed in range(60):
        random = Random(seed)
        scene = Scene(random.choice((PAIR, GROUPED)), seed, random.choice((None, ROUGH)))
        address = random.choice(("p0", "p1", "p3", "p4"))
        moment = random.randrange(3 * SECOND, 10 * SECOND)
        scene.network.at(moment, lambda s=scene, a=address: s.network.crash(a))  # type: ignore[misc]
        back = moment + random.randrange(6 * SECOND)
        scene.network.at(back, lambda s=scene, a=address: s.restart(a))  # type: ignore[misc]
        check(scene)
