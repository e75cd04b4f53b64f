"""The values that a tracker keeps and gives: candidates, components, phenomena and their updates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nilometer.algebra.motion import Motion, Noise
from nilometer.algebra.places import Place
from nilometer.phenomena.neighbours import Source

Standing = tuple[int, float | None, float | None, float | None]
"""The number of a candidate's readings, their sum, the least and the greatest."""


@dataclass(frozen=True)
class Change:
    """A candidate as it is from an evaluation on; n = 0: it is none any more."""

    klass: Any
    source: Source
    standing: Standing
    place: Place | None


@dataclass(frozen=True)
class Shape:
    """How phenomena are made of candidates: options of the definition."""

    name: str
    slide: int
    members: int = 2
    jump: float | None = None
    coordinates: str | None = None
    metres: float = 1.0
    concave: float | None = None
    buffer: float | None = None
    noise: Noise | None = None


@dataclass
class Phenomenon:
    """A phenomenon there is. `members` are in order; `tick` is the evaluation up to which `motion` has come."""

    id: str
    value: Any
    members: list[Source]
    born: int
    parents: list[str]
    children: list[str]
    tick: int
    location: Place | None = None
    region: str | None = None
    area: float | None = None
    origin: Place | None = None
    motion: Motion | None = None
    areas: list[float] = field(default_factory=list)
    readings: tuple[Any, ...] | None = None


@dataclass
class Component:
    """Connected candidates of a class, and the phenomenon they are, if they are enough."""

    members: set[Source]
    phenomenon: Phenomenon | None = None


@dataclass
class Class:
    """The candidates of a class and their components."""

    standings: dict[Source, Standing] = field(default_factory=dict)
    component_of: dict[Source, Component] = field(default_factory=dict)


Touched = dict[Any, dict[int, Component]]
"""By class, the components that may change; by their `id()`."""


@dataclass(frozen=True)
class Update:
    """What happened to a phenomenon at an evaluation: its row from `kind` on, without the tick."""

    id: str
    kind: str
    value: Any
    members: list[Source]
    gained: list[Source]
    lost: list[Source]
    parents: list[str]
    children: list[str]
    state: tuple[Any, ...]
    born: int


def update_of(
    found: Phenomenon, kind: str, members: list[Source], earlier: list[Source], state: tuple[Any, ...]
) -> Update:
    """The update of a phenomenon that has these members now and had those before."""
    now, before = set(members), set(earlier)
    return Update(
        found.id,
        kind,
        found.value,
        members,
        [each for each in members if each not in before],
        [each for each in earlier if each not in now],
        found.parents,
        found.children,
        state,
        found.born,
    )
