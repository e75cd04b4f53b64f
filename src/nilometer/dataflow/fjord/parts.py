"""What a Fjord is made of: the starts that queries share, the groups that move in one wave, and their parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nilometer.dataflow.fjord.answers import Answers
from nilometer.dataflow.fjord.filter_bank import FilterBank, Member
from nilometer.dataflow.fjord.module import Module
from nilometer.dataflow.fjord.pacer import Pacer
from nilometer.dataflow.fjord.queues import Queue
from nilometer.dataflow.fjord.source import Source
from nilometer.dataflow.fjord.stage_module import StageModule
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.watermark import Leaf
from nilometer.errors import NilometerError
from nilometer.plan import physical

Edge = tuple[Module, Queue[Any]]


@dataclass(eq=False)
class Part:
    """A module of a plan, the queries that use it, and what it reads: parts below, and the queues it gets from."""

    module: StageModule | Member
    stateful: bool
    node: physical.Node | None
    streams: frozenset[str]
    below: tuple[Part, ...] = ()
    edges: list[Edge] = field(default_factory=list)
    users: set[str] = field(default_factory=set)

    def walk(self) -> Iterator[Part]:
        """All parts below and then this one; a part that is read twice comes twice."""
        for part in self.below:
            yield from part.walk()
        yield self


@dataclass(eq=False)
class Group:
    """Queries with the same occurrences of streams from the same start: one wave moves them all."""

    start: Start
    leaves: frozenset[Leaf]
    pacer: Pacer
    edges: list[Edge] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    banks: dict[str, tuple[FilterBank, list[Edge]]] = field(default_factory=dict)

    @property
    def known(self) -> dict[physical.Node, Part]:
        """What can be borrowed."""
        return {part.node: part for part in self.parts if part.node is not None}


@dataclass(eq=False)
class Start:
    """A moment from which queries see the streams; `moved` once something of them has come: whoever is installed later sees
    only what comes after. `restored` tells the states apart from which queries of one start went on."""

    key: object
    restored: bytes = b""
    sources: dict[str, Source] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    moved: bool = False


@dataclass(eq=False)
class Installed:
    """A query in a Fjord."""

    name: str
    plan: physical.Node
    start: object
    group: Group
    root: Part
    answers: Answers
    extents: Extents | None = None
    failure: NilometerError | None = None
