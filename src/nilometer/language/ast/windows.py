"""Windows in brackets, and the lengths they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer.language.ast.node import Node

if TYPE_CHECKING:
    from nilometer.language.ast.expressions import Name


@dataclass(frozen=True, slots=True)
class Amount(Node):
    """A length of time or a number of rows: a number or a parameter's name, and a unit (None if the text has
    none)."""

    count: int | float | str
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Window(Node):
    """The base of window specifications; all offsets count back from now."""


@dataclass(frozen=True, slots=True)
class NowWindow(Window):
    """`[NOW]`, `[NOW SLIDE 5 SECONDS]`."""

    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class AtWindow(Window):
    """`[AT NOW - 15 MINUTES]`; offset None is AT NOW."""

    offset: Amount | None
    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class FromToWindow(Window):
    """`[FROM NOW - 2 HOURS TO NOW]`, in either order; None is NOW. A future end is negative; the binder
    refuses it."""

    start: Amount | None
    end: Amount | None
    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class RangeWindow(Window):
    """`[RANGE 10 MINUTES]`, `[RANGE 10 ROWS SLIDE 10 ROWS]`, and `[NOW - 7 DAYS]`, which means the same.

    `[RANGE 10 ROWS PER id]` counts the rows of each key; `OFFSET` and `TIMEZONE` move the edges of a slide.
    """

    length: Amount
    slide: Amount | None = None
    per: tuple[Name, ...] = ()
    offset: Amount | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class UnboundedWindow(Window):
    """`[UNBOUNDED]`: all tuples since the query's start."""

    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class RescanWindow(Window):
    """SNEEql's `[RESCAN 5 MINUTES]` behind a stored table: how often it is read again."""

    every: Amount
