"""Messages that do not arrive: lost on links, sent over dead nodes; and what messages cost."""

from __future__ import annotations

import pytest

from nilometer.sensornet.radio_network import (
    EnergyMeter,
    Events,
    Losses,
    Message,
    Network,
    Power,
    Radio,
    TrafficMeter,
    linked_topology,
)

RADIO = Radio(bytes_per_second=1_000_000, latency=10, packet=100, header=0)
"""A microsecond a byte."""


class World:
    """A line of four nodes, and what became of the messages that were sent over it."""

    def __init__(self, quality: float = 1.0, losses: Losses | None = None) -> None:
        topology = linked_topology(4, [(node, node + 1, quality, quality) for node in range(3)])
        self.traffic = TrafficMeter(RADIO)
        self.energy = EnergyMeter(RADIO, Power(sending=2.0, receiving=1.0), 4)
        self.network = Network(topology, RADIO, Events(), (self.traffic, self.energy), losses)
        self.arrived: list[tuple[int, int]] = []
        self.lost: list[int] = []

    def send(self, number: int, size: int = 100) -> None:
        message = Message(0, 3, "word", size, number)
        self.network.send(
            message, lambda each: self.arrived.append((each, self.network.events.now)), self.lost.append
        )


def test_without_losses_everything_arrives_in_order() -> None:
    world = World()
    for number in range(3):
        world.send(number)
    world.network.events.run()
    assert world.arrived == [(0, 330), (1, 430), (2, 530)]
    assert world.lost == []


@pytest.mark.parametrize(("retries", "least", "most"), [(0, 0.08, 0.18), (3, 0.79, 0.9)])
def test_links_lose_packets_and_send_them_again(retries: int, least: float, most: float) -> None:
    """Three links of quality 0.5: an eighth arrives, and with three retries (15/16) ** 3 = 82 %."""
    world = World(0.5, Losses(retries, seed=1))
    for number in range(2_000):
        world.send(number)
    world.network.events.run()
    assert len(world.arrived) + len(world.lost) == 2_000
    assert least < len(world.arrived) / 2_000 < most
    traffic = world.traffic.kinds["word"]
    assert (traffic.messages, traffic.lost) == (2_000, len(world.lost))
    assert world.network.losses is not None
    assert world.network.losses.arrives(0.5) == 1 - 0.5 ** (retries + 1)


def test_a_dead_node_sends_and_hears_nothing() -> None:
    world = World()
    world.send(0)
    world.send(1)
    # Message 0 is on its way from node 1 to node 2, and message 1 from node 0 to node 1.
    world.network.events.at(150, lambda: world.network.kill(1))
    world.network.events.at(200, lambda: world.send(2))
    world.network.events.run()
    assert [number for number, _ in world.arrived] == [0]
    assert sorted(world.lost) == [1, 2]
    assert world.traffic.kinds["word"].lost == 2


def test_who_sends_and_who_receives_pays() -> None:
    world = World()
    world.send(0, size=50)
    world.network.events.run()
    each = 50e-6
    assert world.energy.joules.tolist() == pytest.approx([2 * each, 3 * each, 3 * each, each])
    world.energy.charge((3, 2), (2.0,), 50, messages=4)
    assert world.energy.joules[3] == pytest.approx(each + 4 * 2 * 2 * each)
