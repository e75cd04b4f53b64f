"""Random scenarios as in SNEE section 6.3, to compare placements: a network, a query and expectations.

Nodes lie at random in a square, at a random density. Two nodes hear each other within a fixed range, and
positions are drawn until all nodes are connected. Some nodes sense River, others Hilltop. The query is one of
the paper's Q1 (selection), Q2 (aggregation) and Q3 (join). The seed determines everything.

>>> scenario = random_scenario(7, 30)
>>> len(scenario.network.nodes), scenario.query_name in QUERIES
(30, True)
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.catalog.profiles import cost_profile
from nilometer.catalog.radio_range import links_within
from nilometer.types import HOUR, MINUTE, format_duration

RANGE = 50.0
"""The distance in metres up to which a mote is heard."""

QUERIES = {
    "Q1": "RSTREAM SELECT River.time, River.depth FROM River[NOW]",
    "Q2": "RSTREAM SELECT AVG(River.depth) FROM River[NOW]",
    "Q3": "RSTREAM SELECT River.time, Hilltop.rain, River.depth FROM River[NOW], Hilltop[AT NOW - {every}]"
    " WHERE Hilltop.rain > 5 AND River.rain < Hilltop.rain",
}
"""SNEE Fig. 25; Q3 looks back by one acquisition interval."""


EXAMPLE_LINKS = (
    (0, 1),
    (0, 2),
    (2, 4),
    (1, 4),
    (1, 3),
    (3, 6),
    (3, 5),
    (4, 5),
    (5, 7),
    (4, 8),
    (7, 8),
    (7, 9),
    (8, 9),
)
"""The links of SNEE's Fig. 3."""


@dataclass(frozen=True)
class Scenario:
    """A planning problem. `schema` declares the streams; `delivery_time` is in microseconds."""

    seed: int
    network: Network
    query_name: str
    query: str
    schema: str
    interval: int
    delivery_time: int


def random_scenario(seed: int, size: int, query_name: str | None = None) -> Scenario:
    """The scenario of a seed: `size` nodes, node 0 the sink."""
    numbers = random.Random(f"snee {seed} {size}")
    interval = numbers.choice((1, 2, 5, 10, 15, 30)) * MINUTE
    delivery_time = numbers.choice((1, 2, 6, 12, 24)) * HOUR
    name = numbers.choice(sorted(QUERIES)) if query_name is None else query_name
    network = random_network(numbers, size)
    every = format_duration(interval)
    schema = _schema(interval)
    return Scenario(seed, network, name, QUERIES[name].format(every=every), schema, interval, delivery_time)


def running_example(query_name: str = "Q3") -> Scenario:
    """SNEE's own scenario: ten motes (Fig. 3), a reading every 15 minutes, delivered within 24 hours
    (Fig. 5)."""
    every, senses = 15 * MINUTE, {4: "Hilltop", 5: "River", 6: "River", 7: "River", 9: "River"}
    nodes = tuple(_mica2(number, senses.get(number)) for number in range(10))
    network = Network(
        "brook", 0, nodes, tuple(Link(*ends) for ends in EXAMPLE_LINKS), cost_profile("snee-2010")
    )
    query = QUERIES[query_name].format(every=format_duration(every))
    return Scenario(0, network, query_name, query, _schema(every), every, 24 * HOUR)


def random_network(
    numbers: random.Random, size: int, *, costs: str = "snee-2010", river: float | None = None
) -> Network:
    """A connected network of `size` motes around sink 0. A share `river` of them (else a random share) senses
    River, a tenth as many Hilltop, at least one each."""
    neighbours = numbers.uniform(6, 12)
    side = math.sqrt(size * math.pi * RANGE**2 / neighbours)
    places = _connected(numbers, size, side)
    links = links_within(enumerate(places), RANGE)
    share = numbers.uniform(0.2, 0.6) if river is None else river
    others = list(range(1, size))
    numbers.shuffle(others)
    count = max(1, min(size - 2, round(share * size)))
    senses = dict.fromkeys(others[:count], "River")
    senses |= dict.fromkeys(others[count : count + max(1, count // 10)], "Hilltop")
    nodes = tuple(_mica2(number, senses.get(number), place) for number, place in enumerate(places))
    return Network(f"random-{size}", 0, nodes, links, cost_profile(costs))


def _mica2(number: int, stream: str | None, place: tuple[float, float] | None = None) -> NetworkNode:
    """A Mica2 (SNEE section 6.1, footnote 9). The sink has the memory of the computer that it is connected
    to."""
    ram = 9999 * 1024 if number == 0 else 4096
    return NetworkNode(number, ram, 128 * 1024, 31320.0, place, () if stream is None else (stream,))


def _schema(interval: int) -> str:
    return "".join(
        f"CREATE STREAM {stream} (id INT, time INT UNIT 's', {columns}) SENSED EVERY {format_duration(interval)};\n"
        for stream, columns in (("River", "rain INT, depth INT"), ("Hilltop", "rain INT"))
    )


def _connected(numbers: random.Random, size: int, side: float) -> list[tuple[float, float]]:
    """Positions in a square, each within range of an earlier one. The result is as if positions had been
    drawn until all were connected, but it comes at once."""
    places = [(numbers.uniform(0, side), numbers.uniform(0, side))]
    cells: dict[tuple[int, int], list[tuple[float, float]]] = {}
    _put(cells, places[0])
    while len(places) < size:
        place = (numbers.uniform(0, side), numbers.uniform(0, side))
        if any(math.dist(place, other) <= RANGE for other in _near(cells, place)):
            places.append(place)
            _put(cells, place)
    return places


def _cell(place: tuple[float, float]) -> tuple[int, int]:
    return int(place[0] // RANGE), int(place[1] // RANGE)


def _put(cells: dict[tuple[int, int], list[tuple[float, float]]], place: tuple[float, float]) -> None:
    cells.setdefault(_cell(place), []).append(place)


def _near(
    cells: dict[tuple[int, int], list[tuple[float, float]]], place: tuple[float, float]
) -> list[tuple[float, float]]:
    column, row = _cell(place)
    return [
        other
        for x in (column - 1, column, column + 1)
        for y in (row - 1, row, row + 1)
        for other in cells.get((x, y), ())
    ]
