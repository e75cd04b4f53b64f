"""Puts points into clusters one after the other, each cluster a list of its faded points' sums."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nilometer.algebra.table_function import Frame
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Evaluation, Row, stream_order
from nilometer.types import ceil_to

Point = tuple[float, ...]


@dataclass
class Cluster:
    """A cluster at a time."""

    number: int
    weight: float
    sums: list[float]
    squares: float
    time: int

    @property
    def centre(self) -> Point:
        return tuple(total / self.weight for total in self.sums)

    @property
    def radius(self) -> float:
        return math.sqrt(max(self.squares / self.weight - sum(c * c for c in self.centre), 0.0))

    def at(self, time: int, half_life: object) -> Cluster:
        """The cluster at a later time."""
        factor = 1.0
        if isinstance(half_life, int) and time > self.time:
            factor = math.exp(-math.log(2.0) * ((time - self.time) / half_life))
        sums = [total * factor for total in self.sums]
        return Cluster(self.number, self.weight * factor, sums, self.squares * factor, max(time, self.time))

    def joined(self, other: Cluster) -> Cluster:
        """Both together; they are of the same time."""
        sums = [one + more for one, more in zip(self.sums, other.sums, strict=True)]
        squares = self.squares + other.squares
        return Cluster(self.number, self.weight + other.weight, sums, squares, self.time)


def _apart(one: Point, other: Point) -> float:
    return math.sqrt(sum((a - b) * (a - b) for a, b in zip(one, other, strict=True)))


def _steps(node: TableFunction, rows: Sequence[Row]) -> Iterator[tuple[Row, int, float, bool, list[Cluster]]]:
    radius, half_life, most = (node.call[word] for word in ("RADIUS", "HALF LIFE", "MOST"))
    assert isinstance(radius, float)
    assert isinstance(most, int)
    clusters: list[Cluster] = []
    begun = 0
    for row in sorted(rows, key=stream_order):
        given = [row.values[name] for name in node.call.columns]
        values = [
            each for value in given for each in (value if isinstance(value, tuple | list) else (value,))
        ]
        if row.id is None or any(value is None or not math.isfinite(value) for value in values):
            continue
        point = _projected(node, tuple(map(float, values)))
        own = Cluster(begun, 1.0, list(point), sum(value * value for value in point), row.time)
        nearest = min(clusters, key=lambda cluster: _apart(point, cluster.centre), default=None)
        grown = None if nearest is None else nearest.at(row.time, half_life).joined(own)
        if nearest is not None and grown is not None and grown.radius <= radius:
            distance, number, new = _apart(point, nearest.centre), nearest.number, False
            clusters[clusters.index(nearest)] = grown
        else:
            distance, number, new = 0.0, begun, True
            clusters.append(own)
            begun += 1
        if len(clusters) > most:
            pairs = [(one, other) for i, one in enumerate(clusters) for other in clusters[i + 1 :]]
            one, other = min(pairs, key=lambda pair: _apart(pair[0].centre, pair[1].centre))
            time = max(one.time, other.time)
            clusters[clusters.index(one)] = one.at(time, half_life).joined(other.at(time, half_life))
            clusters.remove(other)
        yield row, number, distance, new, list(clusters)


def clusters(node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int) -> list[Any]:
    """The cluster of each point, or the clusters at each evaluation."""
    frame = node.call.window
    if not isinstance(frame, Frame):
        return [
            Row(row.time, row.time, row.id, None, _named(node, row.time, row.id, number, distance, new))
            for row, number, distance, new, _ in _steps(node, [row for row in rows if row.time < watermark])
        ]
    if first_tick is None:
        return []
    result = []
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        steps = list(_steps(node, [row for row in rows if row.time <= tick]))
        last = steps[-1][-1] if steps else []
        faded = [cluster.at(tick, node.call["HALF LIFE"]) for cluster in last]
        groups = node.call["GROUPS"]
        more = [()] * len(faded) if groups is None else [(one,) for one in _groups(faded, int(groups))]  # type: ignore[arg-type]
        bag = [
            _named(node, each.number, each.weight, list(each.centre), each.radius, *group)
            for each, group in zip(faded, more, strict=True)
        ]
        result.append(Evaluation(tick, tuple(bag)))
    return result


def _projected(node: TableFunction, point: Point) -> Point:
    """The image of a point: a sixth of the hashes are +, a sixth -."""
    columns = node.call["PROJECT"]
    if not isinstance(columns, int):
        return point
    factor = math.sqrt(3.0 / columns)
    image = [0.0] * columns
    for place, value in enumerate(point):
        for target in range(columns):
            image[target] += {0: factor, 1: -factor}.get(_splitmix(place * columns + target) % 6, 0.0) * value
    return tuple(image)


def _splitmix(number: int) -> int:
    word = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def _groups(clusters: Sequence[Cluster], most: int) -> list[int]:
    """Seeds that are far apart, then k-means until no cluster changes its group."""
    if not clusters:
        return []
    places = range(len(clusters))
    centres = [cluster.centre for cluster in clusters]
    means = [centres[max(places, key=lambda place: clusters[place].weight)]]
    while len(means) < most:
        far = max(places, key=lambda place: min(_apart(centres[place], mean) for mean in means))
        if centres[far] in means:
            break
        means.append(centres[far])
    found: list[int] = []
    for _ in range(100):
        before = found
        found = [min(range(len(means)), key=lambda one: _apart(centre, means[one])) for centre in centres]
        if found == before:
            break
        for one in range(len(means)):
            own = [place for place in places if found[place] == one]
            total = sum(clusters[place].weight for place in own)
            if own:
                means[one] = tuple(
                    sum(clusters[place].weight * centres[place][column] for place in own) / total
                    for column in range(len(centres[0]))
                )
    return found


def _named(node: TableFunction, *values: Any) -> dict[str, Any]:
    return dict(zip(node.schema.names, values, strict=True))
