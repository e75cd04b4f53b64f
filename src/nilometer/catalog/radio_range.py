"""Places of nodes and the distance at which a radio is heard -> the links of a network.

For a network whose links nobody has measured: nodes within the range of each other are linked. Places are sorted into squares
a hair wider than the range, so that a node is compared with those of nine squares only.

>>> links_within([(1, (0.0, 0.0)), (2, (3.0, 4.0)), (3, (30.0, 40.0))], 5)
(Link(source=1, target=2, quality=1.0, cost=1.0),)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from nilometer.catalog.network import Link, NodeId

Place = tuple[float, float]
Squares = dict[tuple[int, int], list[tuple[int, NodeId, Place]]]


def links_within(placed: Iterable[tuple[NodeId, Place]], distance: float) -> tuple[Link, ...]:
    """A link from each node to every later one that is at most `distance` away; later nodes in order, earlier ones in order."""
    squares: Squares = {}
    width = distance * (
        1 + 1e-9
    )  # distances are rounded: a node a hair beyond two squares may be within the range
    links: list[Link] = []
    for number, (node, place) in enumerate(placed):
        column, row = int(place[0] // width), int(place[1] // width)
        heard = sorted(
            (before, other)
            for before, other, where in _around(squares, column, row)
            if math.dist(place, where) <= distance
        )
        links.extend(Link(other, node) for _, other in heard)
        squares.setdefault((column, row), []).append((number, node, place))
    return tuple(links)


def _around(squares: Squares, column: int, row: int) -> Iterator[tuple[int, NodeId, Place]]:
    for x in (column - 1, column, column + 1):
        for y in (row - 1, row, row + 1):
            yield from squares.get((x, y), ())


def least_range(places: Sequence[Place]) -> float:
    """The least distance that connects all places: the longest edge of a least spanning tree (Prim).

    >>> least_range([(0.0, 0.0), (3.0, 4.0), (3.0, 16.0)])
    12.0
    """
    nearest = dict.fromkeys(places, math.inf)
    longest, place = 0.0, places[0]
    del nearest[place]
    while nearest:
        for other, distance in nearest.items():
            nearest[other] = min(distance, math.dist(place, other))
        place = min(nearest, key=nearest.__getitem__)
        longest = max(longest, nearest.pop(place))
    return longest
