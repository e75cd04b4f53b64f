"""Finds, for an expression over one input of a join, an equal expression over another input.

a.x = b.y, b.y = c.z    =>    over input c, a.x is c.z
"""

from __future__ import annotations

from collections.abc import Iterable

from nilometer.expressions import ColumnReference, Expression, columns_of, transform
from nilometer.spark.layout.rewriting import dividing

Side = tuple[int, Expression]


class Equalities:
    """Classes of expressions that are equal in every row of a join, each with the input that it reads."""

    def __init__(self, pairs: Iterable[tuple[Side, Side]]) -> None:
        self._classes: list[list[Side]] = []
        for left, right in pairs:
            if dividing(left[1]) is not None and dividing(right[1]) is not None:
                self._unite(left, right)

    def _unite(self, left: Side, right: Side) -> None:
        touched = [each for each in self._classes if _is_in(left, each) or _is_in(right, each)]
        united = [side for each in touched for side in each]
        united += [side for side in (left, right) if not _is_in(side, united)]
        self._classes = [each for each in self._classes if each not in touched] + [united]

    def of_all(self, inputs: int) -> tuple[Expression, ...]:
        """One expression from each class that has a member in every input, in the order of the pairs."""
        return tuple(each[0][1] for each in self._classes if {port for port, _ in each} == set(range(inputs)))

    def classes(self) -> list[dict[int, Expression]]:
        """The classes with members in several inputs: one expression of each of these inputs."""
        found = [dict(reversed(each)) for each in self._classes]
        return [each for each in found if len(each) > 1]

    def over(self, expression: Expression | None, port: int, columns: frozenset[str]) -> Expression | None:
        """The expression in terms of an input with these columns; None if it has no equal there."""
        if expression is None:
            return None
        if columns_of(expression) <= columns:
            return expression
        for each in self._classes:
            if any(_same(expression, member) for _, member in each):
                for number, member in each:
                    if number == port:
                        return member
        children = tuple(self.over(child, port, columns) for child in expression.children())
        if not children or None in children:
            return None
        return expression.with_children(tuple(child for child in children if child is not None))


def _is_in(side: Side, sides: list[Side]) -> bool:
    return any(side[0] == port and _same(side[1], expression) for port, expression in sides)


def _same(one: Expression, other: Expression) -> bool:
    """Whether two expressions are the same except for the widths of their columns on the wire."""
    return transform(one, _plain) == transform(other, _plain)


def _plain(expression: Expression) -> Expression:
    if isinstance(expression, ColumnReference):
        return ColumnReference(expression.name, expression.type.plain)
    return expression
