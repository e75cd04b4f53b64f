"""Which phenomenon of an evaluation is which of the evaluation before, and what happened to it.

Pairs that share members are matched greedily, one to one: by how many they share, then the earlier born, then the
least member of the old, then of the new. With CONTINUE WITHIN those that are left are matched by the distance between
their nearest members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Source = int | str


@dataclass(frozen=True)
class Old:
    """A phenomenon of the evaluation before; members in order."""

    id: str
    born: int
    members: Sequence[Any]


@dataclass(frozen=True)
class Followed:
    """For each new group the old one that it continues (None: it is new) and all old ones that it meets, in order;
    for each old one the new groups that it meets, in order."""

    continues: list[int | None]
    meets: list[list[int]]
    met: list[list[int]]


def follow(
    old: Sequence[Old], new: Sequence[Sequence[Any]], nearest: Callable[[int, int], float | None] | None
) -> Followed:
    """Match old phenomena with new groups; members are in order, and groups disjoint. `nearest` is the distance
    between an old and a new one, None if it is too far."""
    home = {source: number for number, group in enumerate(new) for source in group}
    shared: dict[tuple[int, int], int] = {}
    for number, each in enumerate(old):
        for source in each.members:
            there = home.get(source)
            if there is not None:
                shared[number, there] = shared.get((number, there), 0) + 1

    def rank(pair: tuple[int, int]) -> tuple[Any, ...]:
        return old[pair[0]].born, old[pair[0]].members[0], new[pair[1]][0]

    pairs = sorted(shared, key=lambda pair: (-shared[pair], *rank(pair)))
    continues: list[int | None] = [None] * len(new)
    taken: set[int] = set()
    _match(pairs, continues, taken)
    if nearest is not None:
        near = [
            (away, o, n)
            for o in range(len(old))
            if o not in taken
            for n in range(len(new))
            if continues[n] is None and (away := nearest(o, n)) is not None
        ]
        near.sort(key=lambda each: (each[0], *rank((each[1], each[2]))))
        _match([(o, n) for _, o, n in near], continues, taken)
    meets: list[list[int]] = [[] for _ in new]
    met: list[list[int]] = [[] for _ in old]
    for o, n in pairs:
        meets[n].append(o)
        met[o].append(n)
    return Followed(continues, meets, met)


def _match(pairs: Sequence[tuple[int, int]], continues: list[int | None], taken: set[int]) -> None:
    for o, n in pairs:
        if o not in taken and continues[n] is None:
            continues[n] = o
            taken.add(o)


def kind_of(meets: int, met: int, before: set[Any], now: set[Any]) -> str:
    """What happened to a phenomenon whose members changed."""
    if meets > 1:
        return "MERGE"
    if met > 1:
        return "SPLIT"
    if before <= now:
        return "GROW"
    return "SHRINK" if now <= before else "MOVE"
