"""The base of the logical and the physical algebra: plan nodes, and functions that walk and rebuild plans.

A node is frozen, computes its `schema` and its `collection`, and knows its `inputs`. Each algebra has its own
`Node` (`class Node(PlanNode["Node"])`), so that a logical node never stands below a physical one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

from nilometer.algebra import Collection, JoinKind
from nilometer.errors import InternalError
from nilometer.types import Schema


def require(condition: bool, message: str) -> None:
    """Raises if a plan is wrong: a bug of the binder or of a rule, never the user's mistake."""
    if not condition:
        raise InternalError(f"wrong plan: {message}")


N = TypeVar("N", bound="PlanNode[Any]")


@dataclass(frozen=True)
class PlanNode(Generic[N]):
    """The base of all nodes."""

    @property
    def inputs(self) -> tuple[N, ...]:
        """The nodes below."""
        return ()

    def with_inputs(self, inputs: tuple[N, ...]) -> Self:
        """The same node over other inputs."""
        require(not inputs, f"{type(self).__name__} takes no input")
        return self

    @property
    def schema(self) -> Schema:
        """The visible columns."""
        raise InternalError(f"{type(self).__name__} has no schema")

    @property
    def collection(self) -> Collection:
        """STREAM, WINDOWS or TABLE."""
        raise InternalError(f"{type(self).__name__} has no collection")


@dataclass(frozen=True)
class OverOne(PlanNode[N]):
    """A node over one input; its schema and collection are its input's, unless it overrides them."""

    input: N

    @property
    def inputs(self) -> tuple[N, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[N, ...]) -> Self:
        require(len(inputs) == 1, f"{type(self).__name__} takes one input")
        return replace(self, input=inputs[0])

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def collection(self) -> Collection:
        return self.input.collection


@dataclass(frozen=True)
class OverTwo(PlanNode[N]):
    """A node over two inputs."""

    left: N
    right: N

    @property
    def inputs(self) -> tuple[N, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[N, ...]) -> Self:
        require(len(inputs) == 2, f"{type(self).__name__} takes two inputs")
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True)
class OverStreams(PlanNode[N]):
    """A node over two or more streams; it returns a stream of all their columns."""

    streams: tuple[N, ...]

    @property
    def inputs(self) -> tuple[N, ...]:
        return self.streams

    def with_inputs(self, inputs: tuple[N, ...]) -> Self:
        require(len(inputs) == len(self.streams), f"{type(self).__name__} takes {len(self.streams)} inputs")
        return replace(self, streams=inputs)

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(column for node in self.streams for column in node.schema))

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


def preserves_table(kind: JoinKind, left: PlanNode[Any], right: PlanNode[Any]) -> bool:
    """Whether a join of windows with a table gives every row of the table at every evaluation, with NULLs
    where the window holds no partner."""
    tables = [side.collection is Collection.TABLE for side in (left, right)]
    if sum(tables) != 1:
        return False
    return kind is JoinKind.FULL or (kind is JoinKind.LEFT and tables[0])


def walk_plan(node: N) -> Iterator[N]:
    """The node and all below it, parents first."""
    yield node
    for child in node.inputs:
        yield from walk_plan(child)


def transform_plan(node: N, change: Callable[[N], N]) -> N:
    """Rebuild from the leaves up, replacing each node by `change(node)`."""
    inputs = tuple(transform_plan(child, change) for child in node.inputs)
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return change(node if same else node.with_inputs(inputs))
