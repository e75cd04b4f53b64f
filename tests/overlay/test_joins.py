"""Answers of peers equal those of trying every combination: types 1 and 2, two to five streams, loss, doubles,
reordering, crashes, restarts, joins, leaves, partitions and outages."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.peer import Settings
from nilometer.overlay.ring import Contact
from nilometer.overlay.simulator import Faults
from nilometer.types import MILLISECOND, SECOND
from overlay.scenes import Scene, results, total

WIDTH = 3 * SECOND
PAIR = JoinPlan.of([("X", ("B",)), ("Y", ("B",))], [((0, "B"), (1, "B"))], WIDTH)
TRIPLE = JoinPlan.of([("X", ("B",)), ("Y", ("B",)), ("Z", ("B",))], [((0, "B"), (1, "B"), (2, "B"))], WIDTH)
CHAIN = JoinPlan.of(
    [("X", ("B",)), ("Y", ("B", "C")), ("Z", ("C",))], [((0, "B"), (1, "B")), ((1, "C"), (2, "C"))], WIDTH
)
FIVE = JoinPlan.of(
    [("V", ("A",)), ("W", ("A", "B")), ("X", ("B",)), ("Y", ("B", "C")), ("Z", ("C",))],
    [((0, "A"), (1, "A")), ((1, "B"), (2, "B"), (3, "B")), ((3, "C"), (4, "C"))],
    [(0, 1, WIDTH), (1, 2, 2 * SECOND), (2, 3, SECOND), (3, 4, WIDTH)],
)
ITSELF = JoinPlan.of([("X", ("B",)), ("X", ("B",))], [((0, "B"), (1, "B"))], SECOND)
ROUGH = Faults(loss=0.1, doubles=0.1, delay=(1 * MILLISECOND, 900 * MILLISECOND))


@pytest.mark.parametrize("plan", [PAIR, TRIPLE, CHAIN, FIVE, ITSELF], ids=["2", "3", "chain", "5", "itself"])
@pytest.mark.parametrize("seed", [1])
def test_loss_doubles_and_reordering_change_no_answer(plan: JoinPlan, seed: int) -> None:
    scene = Scene(plan, seed=seed, faults=ROUGH, seconds=10)
    assert scene.run() == scene.expected
    assert scene.expected
    assert total(scene.network, "lost") == 0


@pytest.mark.parametrize("plan", [TRIPLE, CHAIN], ids=["3", "chain"])
@pytest.mark.parametrize("seed", [2])
def test_a_peer_that_owns_keys_crashes(plan: JoinPlan, seed: int) -> None:
    """It is the home of no stream. With a copy at its successor, nothing is lost or doubled."""
    scene = Scene(plan, peers=6, seed=seed, seconds=12)
    scene.network.at(6 * SECOND + seed * 77 * MILLISECOND, lambda: scene.network.crash("p3"))
    assert scene.run() == scene.expected


@pytest.mark.parametrize("plan", [PAIR, CHAIN], ids=["2", "chain"])
@pytest.mark.parametrize("seed", [4])
def test_a_home_crashes_and_begins_anew(plan: JoinPlan, seed: int) -> None:
    scene = Scene(plan, peers=4, seed=seed, seconds=14)
    scene.network.at(5 * SECOND, lambda: scene.network.crash("p0"))
    scene.network.at((7 + 2 * (seed - 3)) * SECOND, lambda: scene.restart("p0"))
    assert scene.run() == scene.expected


@pytest.mark.parametrize("seed", [6])
def test_peers_join_and_leave(seed: int) -> None:
    scene = Scene(TRIPLE, peers=5, seed=seed, seconds=12)
    new = Contact(scene.network.random.getrandbits(64), "new", "new")
    scene.network.at(4 * SECOND, lambda: scene.network.add(new, scene.settings, via="p0"))

    def leave() -> None:
        scene.network.peers["p3"].leave(scene.network.now)
        scene.network.carry()

    scene.network.at(8 * SECOND, leave)
    scene.network.at(10 * SECOND, lambda: scene.network.crash("p3"))
    assert scene.run() == scene.expected
    assert scene.network.peers["new"].chord.member


def test_a_partition_heals() -> None:
    """Both sides go on; results that both find are one."""
    scene = Scene(TRIPLE, peers=6, seed=7, seconds=20, settings=Settings(slack=60 * SECOND))
    scene.network.at(5 * SECOND, lambda: scene.network.part(["p0", "p3"]))
    scene.network.at(12 * SECOND, scene.network.heal)
    scene.network.run(160 * SECOND)
    assert scene.found() == scene.expected


def test_without_replicas_the_lost_rows_are_counted() -> None:
    settings = Settings(replicas=0, slack=20 * SECOND)
    scene = Scene(PAIR, peers=6, seed=8, seconds=12, settings=settings, rate=6)
    scene.network.at(6 * SECOND, lambda: scene.network.crash("p3"))
    found, expected = scene.run(), scene.expected
    assert set(found) <= set(expected)
    missing = {(at, one) for row in set(expected) - set(found) for at, one in enumerate(row)}
    assert len(found) == len(set(found))
    if missing:
        assert total(scene.network, "lost") > 0


@pytest.mark.parametrize("plan", [PAIR, CHAIN], ids=["2", "chain"])
@pytest.mark.parametrize("away", [(5, 12), (8, 24)])
def test_suspend_and_resume_change_no_answer(plan: JoinPlan, away: tuple[int, int]) -> None:
    last = plan.inputs[-1].stream
    settings = Settings(slack=20 * SECOND, silent=2 * SECOND)
    scene = Scene(plan, seed=9, seconds=30, away={last: away}, settings=settings)

    def silence() -> None:
        del scene.network.peers[scene.homes[last]].indexing._homes[last.lower()]

    scene.network.at(away[0] * SECOND, silence)
    scene.network.at(away[1] * SECOND, lambda: scene.at_home(last, scene.memories[last].greatest))
    assert scene.run() == scene.expected
    assert total(scene.network, "withheld") > 0


def test_joins_by_one_column_share_its_rows() -> None:
    """A second question by the same columns, of two streams of three: no row is put again."""
    other = JoinPlan.of([("X", ("B",)), ("Z", ("B",))], [((0, "B"), (1, "B"))], 2 * SECOND)
    alone, scene = Scene(TRIPLE), Scene(TRIPLE)
    network = scene.network
    asker = network.peers["p0"]

    def ask() -> None:
        asker.ask(network.now, "other", other, SECOND)
        network.carry()

    network.at(SECOND, ask)
    assert alone.run() == scene.run() == scene.expected
    streams = {name: memory.rows for name, memory in scene.memories.items()}
    ids = ["@position0", "@position1"]
    found = sorted(row for frame in asker.asked["other"].taken() for row in frame.select(ids).rows())
    assert found == results(other, streams, SECOND)
    assert found
    assert total(network, "indexed") == total(alone.network, "indexed")


def test_rows_that_are_sent_again_are_not_overdue() -> None:
    """An owner fails together with the one who has its copies: the homes send all again. These rows are as old as a window,
    and their partners come with them."""
    pair = JoinPlan.of([("X", ("B",)), ("Y", ("B",))], [((0, "B"), (1, "B"))], 20 * SECOND)
    scene = Scene(pair, peers=6, seed=1, settings=Settings(slack=4 * SECOND), seconds=40, values=40)
    network, homes = scene.network, {*scene.homes.values(), scene.asker}
    around = sorted(scene.contacts)
    two = next(
        (one.address, after.address)
        for one, after in pairwise([*around, around[0]])
        if not {one.address, after.address} & homes
    )
    for address in two:
        network.at(25 * SECOND, lambda address=address: network.crash(address))  # type: ignore[misc]
    assert scene.run() == scene.expected
    assert sum(peer.joining.overdue for peer in network.peers.values()) == 0


def test_rows_that_a_home_sends_again_in_its_next_life_are_not_overdue() -> None:
    """It does not know which of them it had sent; the owners have dropped them since, and their results with them."""
    scene = Scene(PAIR, peers=5, seed=2, settings=Settings(slack=4 * SECOND), seconds=40)
    network = scene.network
    network.at(25 * SECOND, lambda: network.crash("p0"))
    network.at(30 * SECOND, lambda: scene.restart("p0"))
    assert scene.run() == scene.expected
    assert sum(peer.joining.overdue for peer in network.peers.values()) == 0


def test_both_sides_of_a_partition_are_asked() -> None:
    """One question on each side before it, and one on each side while it lasts. When it is healed, all answers are whole,
    also those of the questions that the other side had not heard of."""
    scene = Scene(PAIR, peers=6, seed=3, seconds=24, settings=Settings(slack=60 * SECOND))
    network = scene.network
    network.at(6 * SECOND, lambda: network.part(["p0", "p2", "p3"]))
    network.at(14 * SECOND, network.heal)

    def ask(address: str, name: str) -> None:
        network.peers[address].ask(network.now, name, PAIR, network.now)
        network.carry()

    asked = [("p3", "a", 2), ("p4", "b", 3), ("p3", "c", 9), ("p4", "d", 10)]
    for address, name, second in asked:
        network.at(second * SECOND, lambda address=address, name=name: ask(address, name))  # type: ignore[misc]
    network.run(160 * SECOND)
    streams = {name: memory.rows for name, memory in scene.memories.items()}
    ids = ["@position0", "@position1"]
    for address, name, second in asked:
        frames = network.peers[address].asked[name].taken()
        found = sorted(row for frame in frames for row in frame.select(ids).rows())
        assert found == results(PAIR, streams, second * SECOND), name
        assert found, name


@pytest.mark.parametrize("seed", range(4))
def test_without_replicas_each_missing_result_has_a_lost_row(seed: int) -> None:
    """The books of each home say how many of its rows were lost with the owner; no other row misses a result."""
    settings = Settings(replicas=0, slack=20 * SECOND)
    scene = Scene(PAIR, peers=6, seed=20 + seed, seconds=12, settings=settings, rate=6)
    gone: dict[str, set[int]] = {"X": set(), "Y": set()}

    def crash() -> None:
        for use, windows in ((flow, flow.windows[0]) for flow in network.peers["p3"].flows.values()):
            for at, one in enumerate(use.plan.inputs):
                kept = windows.rows_of(at, network.peers["p3"].owned)
                gone[one.stream] |= set() if kept is None else set(kept.get_column(f"@position{at}"))
        network.crash("p3")

    network = scene.network
    network.at(6 * SECOND, crash)
    found, expected = scene.run(), scene.expected
    missing = set(expected) - set(found)
    assert set(found) <= set(expected)
    # A result is missing only if a row of it was at the peer that failed, or on its way there.
    lost = {"p0": network.peers["p0"].books.lost, "p1": network.peers["p1"].books.lost}
    assert lost["p0"] >= len({x for x, _ in missing} & gone["X"])
    assert lost["p1"] >= len({y for _, y in missing} & gone["Y"])
    assert not missing or sum(lost.values()) > 0


def ask_at(scene: Scene, second: int, name: str, plan: JoinPlan) -> None:
    network = scene.network

    def ask() -> None:
        network.peers["p0"].ask(network.now, name, plan, network.now)
        network.carry()

    network.at(second * SECOND, ask)


def answers(scene: Scene, name: str) -> list[tuple[int, ...]]:
    asked = scene.network.peers["p0"].asked[name]
    ids = [f"@position{at}" for at in range(len(asked.plan.inputs))]
    return sorted(row for frame in asked.taken() for row in frame.select(ids).rows())


@pytest.mark.parametrize("seconds", [(3, 2, 1), (1, 2, 6), (6, 1, 3)])
def test_joins_of_different_windows_share_a_stage(seconds: tuple[int, ...]) -> None:
    """The peers keep the rows of the widest window, whichever is asked first."""
    widest, shared = Scene(with_width(TRIPLE, max(seconds))), Scene(with_width(TRIPLE, 3))
    kept = [0, 0]
    for at, scene in enumerate((widest, shared)):
        for tick in range(2, 30):

            def count(at: int = at, scene: Scene = scene) -> None:
                kept[at] = max(kept[at], sum(peer.joining.kept for peer in scene.network.peers.values()))

            scene.network.at(tick * SECOND, count)
    for number, width in enumerate(seconds):
        ask_at(shared, 1 + number, f"other{number}", with_width(TRIPLE, width))
    assert widest.run() == widest.expected
    assert shared.run() == shared.expected
    streams = {name: memory.rows for name, memory in shared.memories.items()}
    for number, width in enumerate(seconds):
        expected = results(with_width(TRIPLE, width), streams, (1 + number) * SECOND)
        assert answers(shared, f"other{number}") == expected
        assert expected
    assert all(len(peer.flows) == 1 for peer in shared.network.peers.values())
    assert 0 < kept[1] <= kept[0]


def test_an_equal_question_that_begins_earlier_has_the_earlier_readings() -> None:
    """The homes read their logs again: they had not sent them for the first one."""
    scene = Scene(PAIR)
    network = scene.network

    def ask() -> None:
        network.peers["p0"].ask(network.now, "earlier", PAIR, 0)
        network.carry()

    network.at(3 * SECOND, ask)
    assert scene.run() == scene.expected
    expected = results(PAIR, {name: memory.rows for name, memory in scene.memories.items()}, 0)
    assert answers(scene, "earlier") == expected
    assert len(expected) > len(scene.expected)


def test_a_stage_has_the_widest_window_of_the_questions_that_are_left() -> None:
    scene = Scene(PAIR)
    network, found = scene.network, []
    ask_at(scene, 2, "wide", with_width(PAIR, 9))

    def look() -> None:
        found.append({flow.plan.reach for peer in network.peers.values() for flow in peer.flows.values()})

    def drop(name: str) -> None:
        network.peers["p0"].drop(network.now, name)
        network.carry()

    network.at(5 * SECOND, look)
    network.at(6 * SECOND, lambda: drop("wide"))
    network.at(9 * SECOND, look)
    assert scene.run() == scene.expected
    drop("q")
    network.run(network.now + 10 * SECOND)
    assert found == [{9 * SECOND}, {WIDTH}]
    assert not any(peer.flows for peer in network.peers.values())


def test_joins_of_type_2_and_bounded_ones_share_no_stage() -> None:
    for plan in (CHAIN, replace(PAIR, memory=(9, None)), replace(PAIR, policy="RANDOM")):
        assert plan.shared != with_width(plan, 1).shared
    assert PAIR.shared == with_width(PAIR, 1).shared != with_width(TRIPLE, 1).shared
    assert (
        PAIR.shared
        != replace(PAIR, inputs=(replace(PAIR.inputs[0], condition="B > 1"), PAIR.inputs[1])).shared
    )


def with_width(plan: JoinPlan, seconds: int) -> JoinPlan:
    count = len(plan.inputs)
    widths = tuple(tuple(0 if i == j else seconds * SECOND for j in range(count)) for i in range(count))
    return replace(plan, widths=widths)
