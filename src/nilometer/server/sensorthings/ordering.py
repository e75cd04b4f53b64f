"""$orderby, one entity after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from nilometer.server.sensorthings import expressions as ex
from nilometer.server.sensorthings.evaluate import evaluate, order_key
from nilometer.server.sensorthings.looking import look_of
from nilometer.server.sensorthings.model import Entity, Model

T = TypeVar("T")


def sorted_by(
    model: Model,
    items: list[T],
    keys: tuple[tuple[ex.Expression, bool], ...],
    entity: Callable[[T], Entity],
) -> list[T]:
    """Sort items by expressions of their entities; equal ones keep their order."""
    found = items
    for expression, descending in reversed(keys):

        def key(item: T, expression: ex.Expression = expression) -> Any:
            return order_key(evaluate(expression, look_of(model, entity(item))))

        found = sorted(found, key=key, reverse=descending)
    return found
