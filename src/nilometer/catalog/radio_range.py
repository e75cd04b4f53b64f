"""Links the nodes of a network that lie within radio range of each other.

It is for a network whose links nobody has measured. Places are sorted into squares slightly wider than the
range, so a node is compared only with the nodes of nine squares.

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
    """Links each node with every later one at most `distance` away, ordered by the later node, then the
    earlier."""
    squares: Squares = {}
    width = distance * (
        1 + 1e-9
    )  # distances are rounded: a node just beyond two squares may be within the range
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
    """The least distance that connects all places: the longest edge of a minimum spanning tree (Prim).

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
