"""Fragments (SNEE step 5, Fig. 17): a physical plan cut at EXCHANGE into pieces that run at one site each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from nilometer.errors import InternalError
from nilometer.placement.node_paths import NodePath, inputs_with_paths
from nilometer.plan import physical


@dataclass(frozen=True)
class Fragment:
    """A piece of the plan. `root` is its topmost operator. An `Exchange` below it is where the rows of
    another fragment come in; the operators below that Exchange belong to the other fragment. `producers` are
    the fragments behind those Exchanges, left to right. `consumer` is the fragment that this one feeds (None:
    it delivers).

    Fragment 0 always delivers at the sink. Besides DELIVER it may hold operators that no mote can run, or
    that cost more in the network than at the gateway. `host` is then `gateway` or `spark`, otherwise `mote`.
    """

    number: int
    root: physical.Node
    producers: tuple[int, ...] = ()
    consumer: int | None = None
    host: str = "mote"

    def __post_init__(self) -> None:
        if isinstance(self.root, physical.Exchange):
            raise InternalError("a fragment begins with an operator, not with an EXCHANGE")
        if len(self.exchanges) != len(self.producers):
            raise InternalError(f"fragment {self.number} does not know who feeds it")

    @cached_property
    def with_paths(self) -> tuple[tuple[NodePath, physical.Node], ...]:
        """Its operators and the EXCHANGEs that feed them, parents first, each with its path below the
        root."""
        return tuple(_until_exchange((), self.root))

    @property
    def with_exchanges(self) -> tuple[physical.Node, ...]:
        """Its operators and the EXCHANGEs that feed them, parents first."""
        return tuple(node for _, node in self.with_paths)

    @property
    def exchanges(self) -> tuple[physical.Exchange, ...]:
        """The EXCHANGEs that bring its producers' rows, left to right."""
        return tuple(node for node in self.with_exchanges if isinstance(node, physical.Exchange))

    @property
    def operators(self) -> tuple[physical.Node, ...]:
        """Its operators, parents first."""
        return tuple(node for node in self.with_exchanges if not isinstance(node, physical.Exchange))

    @property
    def mote_operators(self) -> tuple[physical.Node, ...]:
        """The operators that a mote runs: none for the fragment of the gateway."""
        return self.operators if self.host == "mote" else ()

    @property
    def is_leaf(self) -> bool:
        """Whether it acquires readings, so that no fragment feeds it."""
        return not self.producers

    @property
    def delivers(self) -> bool:
        """Whether it delivers the answer."""
        return self.consumer is None

    @property
    def merges(self) -> bool:
        """Whether its instances feed one another on the way to the sink (recursive AGGR_MERGE)."""
        return any(isinstance(node, physical.AggregateMerge) for node in self.operators) and not self.delivers

    @property
    def acquires(self) -> tuple[physical.SpAcquire, ...]:
        """Its acquisitions."""
        return tuple(node for node in self.operators if isinstance(node, physical.SpAcquire))

    @property
    def name(self) -> str:
        """Its name as in the paper: F3."""
        return f"F{self.number}"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FragmentTree:
    """All fragments of a plan, by number. Fragment 0 delivers, and a fragment's number is smaller than those
    of its producers."""

    fragments: tuple[Fragment, ...]

    def __post_init__(self) -> None:
        if [fragment.number for fragment in self.fragments] != list(range(len(self.fragments))):
            raise InternalError("fragments are numbered from 0")

    def __getitem__(self, number: int) -> Fragment:
        return self.fragments[number]

    def __iter__(self) -> Iterator[Fragment]:
        return iter(self.fragments)

    def __len__(self) -> int:
        return len(self.fragments)

    @cached_property
    def post_order(self) -> tuple[Fragment, ...]:
        """Producers before their consumers, fragment 0 last."""

        def visit(fragment: Fragment) -> Iterator[Fragment]:
            for number in fragment.producers:
                yield from visit(self[number])
            yield fragment

        return tuple(visit(self[0]))

    @property
    def leaves(self) -> tuple[Fragment, ...]:
        """The fragments that acquire."""
        return tuple(fragment for fragment in self.post_order if fragment.is_leaf)


def _until_exchange(path: NodePath, node: physical.Node) -> Iterator[tuple[NodePath, physical.Node]]:
    yield path, node
    if not isinstance(node, physical.Exchange):
        for below, child in inputs_with_paths(path, node):
            yield from _until_exchange(below, child)
