"""Turns an alert or a decision into the query that it stands for: an answer of theirs is an answer of that query.

    'open' WHEN kind = 'hazard', 'pass' OTHERWISE   ON boxes
    ─►  SELECT CASE WHEN kind = 'hazard' THEN 'open' ELSE 'pass' END AS action,
               CASE WHEN kind = 'hazard' THEN <the condition and its values> ... END AS reason, * FROM boxes

So every host that runs the query decides alike, and the reference evaluator says what is right.

>>> from nilometer.language import parse, print_statement
>>> made = lowered(parse("CREATE DECISION act ON boxes CHOOSE ('open' WHEN hazard, 'pass' OTHERWISE)"))
>>> print_statement(made.query).split(" AS action")[0]
"SELECT CASE WHEN hazard THEN 'open' ELSE 'pass' END"
"""

from __future__ import annotations

from collections.abc import Iterator

from nilometer.language import ast
from nilometer.language.print_expressions import print_expression
from nilometer.language.walk import children

Reaction = ast.CreateAlert | ast.CreateDecision
OTHERWISE = "no other choice applies"


def lowered(statement: Reaction) -> ast.CreateQuery:
    """The standing query of an alert or a decision; it has the same name."""
    if isinstance(statement, ast.CreateAlert):
        return ast.CreateQuery(statement.name, statement.query, span=statement.span)
    return ast.CreateQuery(statement.name, _choosing(statement), span=statement.span)


def _choosing(decision: ast.CreateDecision) -> ast.Select:
    met = [one for one in decision.choices if one.condition is not None]
    last = next((one for one in decision.choices if one.condition is None), None)
    action = _case(
        [(_of(one), ast.Constant(one.action, span=one.span)) for one in met],
        None if last is None else ast.Constant(last.action, span=last.span),
    )
    reason = _case(
        [(_of(one), _reason(_of(one))) for one in met], None if last is None else ast.Constant(OTHERWISE)
    )
    where: ast.Expression | None = None
    if last is None:
        for one in met:
            where = _of(one) if where is None else ast.Binary("OR", where, _of(one), span=decision.span)
    if isinstance(decision.source, str):
        source: ast.Source = ast.ExtentSource(decision.source, span=decision.span)
    else:
        source = ast.QuerySource(decision.source, span=decision.source.span)
    items = (
        ast.SelectItem(action, "action"),
        ast.SelectItem(reason, "reason"),
        ast.SelectItem(ast.Star(span=decision.span)),
    )
    return ast.Select(items, (source,), where=where, span=decision.span)


def _of(choice: ast.DecisionChoice) -> ast.Expression:
    assert choice.condition is not None
    return choice.condition


def _case(
    whens: list[tuple[ast.Expression, ast.Expression]], otherwise: ast.Expression | None
) -> ast.Expression:
    if not whens:
        assert otherwise is not None
        return otherwise
    return ast.Case(None, tuple(whens), otherwise, span=whens[0][0].span)


def _reason(condition: ast.Expression) -> ast.Expression:
    """The condition's text and the values in it: `kind = 'hazard' AND p > 0.9 [kind: hazard, p: 0.95]`."""
    span = condition.span
    values: list[ast.Expression] = []
    for name in dict.fromkeys(_names(condition)):
        text = ast.Cast(ast.Name(name, span=span), "STRING", span=span)
        shown = ast.FunctionCall("COALESCE", (text, ast.Constant("NULL")), span=span)
        values += [ast.Constant(f"{', ' if values else ' ['}{'.'.join(name)}: "), shown]
    said = ast.Constant(print_expression(condition))
    if not values:
        return said
    return ast.FunctionCall("CONCAT", (said, *values, ast.Constant("]")), span=span)


def _names(node: ast.Node) -> Iterator[tuple[str, ...]]:
    """The columns in a condition; those of its subqueries are none of the row."""
    if isinstance(node, ast.Name):
        yield node.parts
    elif not isinstance(node, ast.QueryNode):
        for child in children(node):
            yield from _names(child)
