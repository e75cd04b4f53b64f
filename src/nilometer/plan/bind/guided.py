"""GUIDED BY smoke: proves that every reading that WHERE keeps has the class of the phenomenon's readings.

`pm25 > 60` implies `ABOVE 35`, so a sensor that brings an answer is, or soon is, a candidate. Sensors at a phenomenon and
around it are read, and nobody else: the answer may lack readings of lonely sensors (docs/phenomena.md). A condition that
reaches beyond the phenomenon is refused, because then answers would be missing everywhere.
"""

from __future__ import annotations

from nilometer.algebra.table_functions import phenomena as words
from nilometer.expressions import Call, ColumnReference, Expression, Literal, conjunction, transform
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.scope import Scope
from nilometer.plan.implication import implies
from nilometer.plan.summaries import bare
from nilometer.types import BOOLEAN, FLOAT, Kind


def prove_guided(scope: Scope, select: ast.Select, where: tuple[Expression, ...]) -> None:
    """Refuses GUIDED BY where the conditions do not imply the phenomenon's class."""
    if select.guided is None:
        return
    name = select.guided.phenomenon
    if scope.guided is None:
        scope.context.fail(
            f"GUIDED BY {name} needs a stream in FROM to read",
            select.guided,
            hint="write FROM the phenomenon's own stream",
        )
    alias, told = scope.guided
    leaves = [node for node in logical.walk_plan(told) if isinstance(node, logical.Acquire)]
    wanted = class_of(told)
    if wanted is None:
        scope.context.fail(
            f"GUIDED BY {name}: readings of {told.call['LIKENESS']} have no range that WHERE could lie in",
            select.guided,
            hint="GUIDED BY takes phenomena defined by ABOVE, BELOW or BETWEEN; INSIDE(...) takes all",
        )
    weak = bare(wanted, leaves[0].alias)
    strong = conjunction([plain(bare(part, alias)) for part in where])
    if strong is None or not implies(strong, weak):
        asked = "all readings" if strong is None else f"readings with {strong}"
        scope.context.fail(
            f"GUIDED BY {name} could miss answers of this query",
            select.guided,
            detail=f"the query asks for {asked}, and '{name}' is of readings with {weak}: the first does not "
            "imply the second",
            hint=f"ask within the phenomenon: WHERE {weak} AND ...; or leave GUIDED BY out",
        )


def class_of(told: logical.TableFunction) -> Expression | None:
    """The condition that a reading counts for the phenomenon; None where it is no range of values."""
    call, readings = told.call, told.input
    column = call.columns[0]
    value = ColumnReference(column, readings.schema[column].type.plain)
    given = call[str(call["LIKENESS"])]

    def compare(way: str, bound: object) -> Expression:
        return Call(way, (value, Literal(bound, FLOAT)), BOOLEAN)

    match call["LIKENESS"], given:
        case words.ABOVE, bound:
            parts = [compare(">", bound)]
        case words.BELOW, bound:
            parts = [compare("<", bound)]
        case words.BETWEEN, (low, high):
            parts = [compare(">=", low), compare("<=", high)]
        case _:
            return None
    while True:
        match readings:
            case logical.Select(input, predicate):
                parts.append(predicate)
            case logical.Rename(input, alias):  # of a view
                parts = [bare(part, alias) for part in parts]
            case logical.Project(input, items):
                parts = [_before(part, items) for part in parts]
            case logical.Acquire(predicate=predicate) if predicate is not None:
                return conjunction((*parts, predicate))
            case _:
                return conjunction(parts)
        readings = input


def _before(condition: Expression, items: tuple[logical.Projection, ...]) -> Expression:
    """The condition on the columns of a projection, as one on what they are made of."""
    made = {item.name: item.expression for item in items}

    def change(part: Expression) -> Expression:
        return made.get(part.name, part) if isinstance(part, ColumnReference) else part

    return transform(condition, change)


def plain(condition: Expression) -> Expression:
    """The condition, where a whole number that is compared as FLOAT is compared as it is."""

    def change(part: Expression) -> Expression:
        match part:
            case Call("float", (ColumnReference() as column,)) if column.type.kind is Kind.INT:
                return column
            case _:
                return part

    return transform(condition, change)
