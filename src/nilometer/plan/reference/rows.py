"""The three results of evaluating a plan, and how their values are ordered and compared.

- a stream is a list of `Row`s: values, tagged with a tick, an event time, a source and a position;
- windows are a list of `Evaluation`s, in order: a tick and a bag of values;
- a table is a list of values.

>>> sorted(["b", 2, None, 1.5], key=order_key)
[None, 1.5, 2, 'b']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Values = Mapping[str, Any]
"""The visible columns of a row, by name."""


@dataclass(frozen=True)
class Row:
    """A tuple of a stream. A tuple that a join or a window made has neither source nor position."""

    tick: int
    time: int
    id: int | str | None
    position: int | None
    values: Values


@dataclass(frozen=True)
class Evaluation:
    """A window at one of its ticks. Row windows may be evaluated several times at one tick."""

    tick: int
    bag: tuple[Values, ...]


def order_key(value: Any) -> tuple[Any, ...]:
    """A key that orders any two values: NULL first, then numbers, text, then lists and structs by parts."""
    match value:
        case None:
            return (0,)
        case bool() | int() | float():
            return (1, value)
        case str():
            return (2, value)
        case _ if isinstance(value, Mapping):
            return (3, tuple(order_key(part) for part in value.values()))
        case _:
            return (3, tuple(order_key(part) for part in value))


def stream_order(row: Row) -> tuple[Any, ...]:
    """The order of a stream's tuples: (time, id, position), then values, as derived streams lack
    positions."""
    values = order_key(row.values) if row.position is None else ()
    return (row.time, order_key(row.id), order_key(row.position), values)


def delivery_order(row: Row) -> tuple[Any, ...]:
    """The order in which an answer's tuples are delivered: by tick, then by (time, id, position)."""
    return (row.tick, row.time, order_key(row.id), order_key(row.position))


def source_order(row: Row) -> tuple[Any, ...]:
    """The order of one source's tuples: (time, position), then the values of those without a position.

    A tuple joined with several rows of a table appears once for each, in the table's order, which a stable
    sort keeps.
    """
    return (row.time, order_key(row.position), order_key(row.values) if row.position is None else ())


def freeze(value: Any) -> Any:
    """The value in a hashable form that is equal where the values are equal (NULL = NULL)."""
    if isinstance(value, Mapping):
        return tuple(freeze(part) for part in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(freeze(part) for part in value)
    return value
