"""What stands in FROM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer.language.ast.node import Node

if TYPE_CHECKING:
    from nilometer.language.ast.expressions import Expression, Name
    from nilometer.language.ast.queries import QueryNode
    from nilometer.language.ast.windows import Amount, Window


@dataclass(frozen=True, slots=True)
class Source(Node):
    """The base of the sources in FROM."""


@dataclass(frozen=True, slots=True)
class ExtentSource(Source):
    """`river [NOW] R`, `river R [NOW]`, `river AS R`: the window may stand before or after the alias."""

    name: str
    window: Window | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class QuerySource(Source):
    """`( query ) [window] [alias [(columns)]]`."""

    query: QueryNode
    window: Window | None = None
    alias: str | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnnestSource(Source):
    """`UNNEST(list) [alias [(column)]]`: a row for each element of a list of the relations before it."""

    expression: Expression
    alias: str | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AsofSource(Source):
    """`a ASOF JOIN b ON a.id = b.id [WITHIN d]`; `inner` is ASOF INNER JOIN, which drops what has no match."""

    left: Source
    right: Source
    condition: Expression
    within: Amount | None = None
    inner: bool = False


@dataclass(frozen=True, slots=True)
class JoinSource(Source):
    """`a LEFT JOIN b ON a.id = b.id`, `a JOIN b USING (id)`; kind is 'INNER', 'LEFT', 'RIGHT' or 'FULL'. With
    neither condition nor columns it is CROSS JOIN."""

    left: Source
    right: Source
    kind: str
    condition: Expression | None = None
    using: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Amounts(Node):
    """`(1, 2.5, x)`: numbers in parentheses."""

    items: tuple[Amount, ...]


@dataclass(frozen=True, slots=True)
class Shape(Node):
    """`'spike' (0, 4, 0)`: numbers with a name."""

    name: str
    values: Amounts


@dataclass(frozen=True, slots=True)
class Shapes(Node):
    """`('spike' (0, 4, 0), 'step' (0, 0, 1))`: several lists of numbers."""

    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class ShapeOf(Node):
    """`OF 7 AT '2026-03-01T06:00Z'`: what a source read up to a time."""

    identifier: int | str
    time: str


@dataclass(frozen=True, slots=True)
class Word(Node):
    """A word between an option's values, in capitals: the BETWEEN of `LEVELS 8 BETWEEN 15 AND 35`."""

    text: str


@dataclass(frozen=True, slots=True)
class Setting(Node):
    """An option of a table function: its word, then its values with any words between them.

    A flag has no values. The word of a `positional` option is not written.
    """

    word: str
    values: tuple[Amount | Amounts | Shapes | ShapeOf | Name | Word, ...] = ()
    positional: bool = False


@dataclass(frozen=True, slots=True)
class FunctionSource(Source):
    """`SIMILAR(s, column WITHIN 0.5 PAIRS) [window] [alias]`; settings are in the order of the function's
    declaration. `time` is what DESCRIPTOR of a SESSION names, if that is not `time`."""

    name: str
    source: Source
    columns: tuple[Name, ...] = ()
    settings: tuple[Setting, ...] = ()
    window: Window | None = None
    alias: str | None = None
    time: Name | None = None


@dataclass(frozen=True, slots=True)
class PhenomenonSource(Source):
    """`ON air.pm25 ABOVE 35 RANGE 3 HOURS ... [WHERE condition]`: a phenomenon, defined by the column of a stream and
    settings in the order of their declaration."""

    extent: str
    column: str
    settings: tuple[Setting, ...] = ()
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class GroupWindowSource(Source):
    """`TUMBLE(s, size)`, `HOP(s, slide, size)` or `CUMULATE(s, step, size)`, each with `OFFSET d` and `TIMEZONE
    'z'`. `time` is what DESCRIPTOR names, if that is not `time`. SESSION is a FunctionSource."""

    kind: str
    source: Source
    size: Amount
    slide: Amount | None = None
    offset: Amount | None = None
    zone: str | None = None
    alias: str | None = None
    time: Name | None = None
