"""SELECT, and what is made of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer.language.ast.node import Node

if TYPE_CHECKING:
    from nilometer.language.ast.expressions import Constant, Expression, Name
    from nilometer.language.ast.sources import Source
    from nilometer.language.ast.windows import Amount


@dataclass(frozen=True, slots=True)
class SelectItem(Node):
    """`expression [AS name]`."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class WindowBound(Node):
    """`WINDOW(a, b) = w`; right None is `WINDOW(a) = w`, of one stream; both None is the uniform `WINDOW = w`."""

    left: str | None
    right: str | None
    width: Amount


@dataclass(frozen=True, slots=True)
class MemoryBound(Node):
    """`MEMORY(a) = 1000 ROWS`; stream None is the uniform `MEMORY = 1000 ROWS`, for every stream."""

    stream: str | None
    rows: Amount


@dataclass(frozen=True, slots=True)
class Guided(Node):
    """`GUIDED BY smoke [REACH 2]`: only the sensors at a phenomenon, and so many steps around, are read."""

    phenomenon: str
    reach: Amount | None = None


@dataclass(frozen=True, slots=True)
class QueryNode(Node):
    """The base of queries."""


@dataclass(frozen=True, slots=True)
class Select(QueryNode):
    """One SELECT; without FROM it has no sources. `stream` is None, 'RSTREAM', 'ISTREAM' or 'DSTREAM'; `shed` says
    which tuples to drop if memory is short. `fill` is NULL or PREVIOUS. `qualify` is the condition on OVER."""

    items: tuple[SelectItem, ...]
    sources: tuple[Source, ...]
    stream: str | None = None
    bounds: tuple[WindowBound, ...] = ()
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    sample: Amount | None = None
    deliver: Amount | None = None
    memory: tuple[MemoryBound, ...] = ()
    shed: str | None = None
    distinct: bool = False
    fill: str | None = None
    qualify: Expression | None = None
    guided: Guided | None = None


@dataclass(frozen=True, slots=True)
class Union(QueryNode):
    """`query UNION [DISTINCT] query`, left-associative; UNION ALL is UNION."""

    left: QueryNode
    right: QueryNode
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class SetOperation(QueryNode):
    """`query EXCEPT [ALL] query`, `query INTERSECT [ALL] query`; INTERSECT binds more tightly."""

    operator: str
    left: QueryNode
    right: QueryNode
    all: bool = False


@dataclass(frozen=True, slots=True)
class Values(QueryNode):
    """`VALUES (1, 'a'), (2, 'b')`: all rows have equally many columns."""

    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class CommonTable(Node):
    """`name [(columns)] AS ( query )` in WITH."""

    name: str
    columns: tuple[str, ...]
    query: QueryNode


@dataclass(frozen=True, slots=True)
class With(QueryNode):
    """`WITH name AS (query), ... query`; a query sees the names before it."""

    tables: tuple[CommonTable, ...]
    query: QueryNode


@dataclass(frozen=True, slots=True)
class SortKey(Node):
    """`expression [ASC | DESC] [NULLS FIRST | LAST]`; NULLs come last unless the text says otherwise."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Ordered(QueryNode):
    """`query [ORDER BY keys] [LIMIT n] [OFFSET m]`; a number may be a parameter's name."""

    query: QueryNode
    order_by: tuple[SortKey, ...] = ()
    limit: Constant | Name | None = None
    offset: Constant | Name | None = None
