"""Random joins, of both types and of two to five streams, asked with several windows that come and go, under random schedules of crashes, restarts, joins and
partitions, over a network that loses, doubles and reorders: the answer is that of trying every combination."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from nilometer.kernels.window_bounds import closure
from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.peer import Settings
from nilometer.overlay.ring import Contact
from nilometer.overlay.simulator import Faults
from nilometer.types import MILLISECOND, SECOND
from overlay.scenes import Scene, results

SLACK = 90 * SECOND
"""Longer than all that happens here: no row is overdue."""


def random_plan(random: Random) -> JoinPlan:
    """A connected graph of equalities over two to five streams."""
    count = random.randint(2, 5)
    columns: list[set[str]] = [set() for _ in range(count)]
    classes: list[set[tuple[int, str]]] = []
    for at in range(1, count):
        other, name = random.randrange(at), random.choice("ABC")
        columns[at].add(name)
        columns[other].add(name)
        pair = {(at, name), (other, name)}
        touching = [one for one in classes if one & pair]
        classes = [one for one in classes if not one & pair] + [pair.union(*touching)]
    inputs = [("VWXYZ"[at], tuple(sorted(names))) for at, names in enumerate(columns)]
    bounds = [(at, random.randrange(at), random.choice((1, 2, 3)) * SECOND) for at in range(1, count)]
    plan = JoinPlan.of(inputs, [tuple(sorted(one)) for one in classes], bounds)
    own = Random(str(plan))
    return replace(plan, widths=directed(plan.widths, own)) if own.random() < 0.5 else plan


def directed(widths: tuple[tuple[int, ...], ...], random: Random) -> tuple[tuple[int, ...], ...]:
    """Windows of each stream alone, too: it may be in reach of what comes later, and hardly of what came before."""
    own = [random.choice((0, 1, 4)) * SECOND for _ in widths]
    least = [[min(width, own[i]) for width in row] for i, row in enumerate(widths)]
    return tuple(tuple(map(int, row)) for row in closure(np.array(least)))


def check(seed: int) -> None:
    random = Random(seed)
    plan = random_plan(random)
    faults = Faults(
        random.choice((0, 0.05, 0.15)), random.choice((0, 0.1)), (1, random.choice((20, 600)) * MILLISECOND)
    )
    settings = Settings(slack=SLACK, silent=random.choice((3, 60)) * SECOND)
    scene = Scene(plan, peers=7, seed=seed, faults=faults, settings=settings, seconds=14, rate=2, values=2)
    network = scene.network
    others = ask_others(scene, Random(seed))
    # Homes are p0 to p4, the one who asks is p6; p5 and a new one come and go, and one home may begin anew.
    moment = random.randint(4, 8) * SECOND + random.randrange(SECOND)
    what = random.choice(("nothing", "crash", "restart", "join", "home", "part"))
    match what:
        case "crash":
            network.at(moment, lambda: network.crash("p5"))
        case "restart":
            network.at(moment, lambda: network.crash("p5"))
            network.at(moment + random.randrange(1, 6) * SECOND, lambda: scene.restart("p5"))
        case "join":
            new = Contact(random.getrandbits(64), "new", "new")
            network.at(moment, lambda: network.add(new, settings, via="p0"))
        case "home":
            network.at(moment, lambda: network.crash("p0"))
            network.at(moment + random.randrange(1, 6) * SECOND, lambda: scene.restart("p0"))
        case "part":
            network.at(moment, lambda: network.part(["p0", "p1", "p5"]))
            network.at(moment + random.randrange(1, 6) * SECOND, network.heal)
    network.run(120 * SECOND)
    assert scene.found() == scene.expected, f"seed {seed}, {what}"
    streams = {name: memory.rows for name, memory in scene.memories.items()}
    ids = [f"@position{at}" for at in range(len(plan.inputs))]
    for name, other, start, ends in others:
        frames = scene.network.peers[scene.asker].asked[name].taken() if ends is None else scene.ended[name]
        found = sorted(row for frame in frames for row in frame.select(ids).rows())
        expected = results(other, streams, start)
        if ends is None:
            assert found == expected, f"seed {seed}, {what}, {name}"
        else:
            assert len(found) == len(set(found)), f"seed {seed}, {what}, {name}"
            assert set(found) <= set(expected), f"seed {seed}, {what}, {name}"


def ask_others(scene: Scene, random: Random) -> list[tuple[str, JoinPlan, int, int | None]]:
    """Questions of the same join with other windows, wider and narrower ones, that begin later or earlier than the first. Some
    are dropped while the others go on."""
    network = scene.network
    others: list[tuple[str, JoinPlan, int, int | None]] = []
    for number in range(random.randint(1, 4)):
        scaled = np.array(scene.plan.widths) * random.choice((0.3, 0.7, 1, 1.5, 2.5))
        widths = tuple(tuple(map(int, row)) for row in closure(scaled.astype(np.int64)))
        if random.random() < 0.3:
            widths = directed(widths, random)
        name, plan = f"other{number}", replace(scene.plan, widths=widths)
        at = random.randrange(SECOND // 2, 9 * SECOND)
        start = max(0, at + random.choice((-2, 0, 0, 1)) * SECOND)
        ends = at + random.randrange(1, 6) * SECOND if random.random() < 0.4 else None
        others.append((name, plan, start, ends))

        def ask(name: str = name, plan: JoinPlan = plan, start: int = start) -> None:
            network.peers[scene.asker].ask(network.now, name, plan, start)
            network.carry()

        def drop(name: str = name) -> None:
            asker = network.peers[scene.asker]
            scene.ended[name] = asker.asked[name].taken()
            asker.drop(network.now, name)
            network.carry()

        network.at(at, ask)
        if ends is not None:
            network.at(ends, drop)
    return others


@pytest.mark.parametrize("seed", [0, 2, 4, 5])
def test_random_joins(seed: int) -> None:
    check(seed)


@pytest.mark.long
def test_many_random_joins() -> None:
    for seed in range(300):
        check(seed)
