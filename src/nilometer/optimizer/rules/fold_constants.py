"""Evaluate what is constant, once."""

from __future__ import annotations

from dataclasses import replace

from nilometer.errors import NilometerError
from nilometer.expressions import (
    TRUE,
    Call,
    Case,
    Expression,
    InList,
    Literal,
    conjunction,
    conjuncts,
    transform,
    type_of,
)
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import flatten, map_expressions
from nilometer.plan import logical
from nilometer.plan.logical import Node, transform_plan
from nilometer.plan.scalar import STRICT, evaluate
from nilometer.types import BOOLEAN, NESTED, Kind

FALSE = Literal(False, BOOLEAN)


def fold_constants(plan: Node, _context: OptimizerContext) -> Node:
    """`f(constants) => constant`; `f(x, NULL) => NULL   when f gives NULL for any NULL`; `p AND TRUE => p`;
    `p AND FALSE => FALSE`; likewise for OR and CASE; `Select(TRUE, x) => x`.

    In a condition, NULL counts as FALSE. An expression that would overflow stays as it is: the query fails when a row
    reaches it.
    """
    return transform_plan(plan, _fold_node)


def _fold_node(node: Node) -> Node:
    node = map_expressions(node, fold, fold_condition)
    match node:
        case logical.Select(input, predicate) if predicate == TRUE:
            return input
        case logical.Acquire() | logical.Join() | logical.WindowJoin() if node.predicate == TRUE:
            return replace(node, predicate=None)
        case _:
            return node


def fold(expression: Expression) -> Expression:
    """The same value, with every constant part evaluated."""
    return transform(expression, _fold)


def fold_condition(predicate: Expression) -> Expression:
    """The same for a condition, of which only matters whether it is true."""
    parts = [part for part in conjuncts(fold(predicate)) if part != TRUE]
    if any(isinstance(part, Literal) and not part.value for part in parts):
        return FALSE
    return conjunction(parts) or TRUE


def _fold(node: Expression) -> Expression:
    node = flatten(node)
    match node:
        case Call("and", arguments):
            return _logical(node, arguments, neutral=True)
        case Call("or", arguments):
            return _logical(node, arguments, neutral=False)
        case Case():
            return _case(node)
        case InList(_, ()):
            return FALSE
        case Call(function, arguments) if function in STRICT and any(map(_null, arguments)):
            return Literal(None, type_of(node))
        case Call() | InList() if _constant(node):
            try:
                return Literal(evaluate(node, {}, None), type_of(node))
            except NilometerError:
                return node
        case _:
            return node


def _null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _constant(node: Expression) -> bool:
    if type_of(node).kind in (*NESTED, Kind.NULL):
        return False
    return all(isinstance(child, Literal) for child in node.children())


def _logical(node: Call, arguments: tuple[Expression, ...], neutral: bool) -> Expression:
    """AND, for which TRUE is neutral and FALSE decides; OR, the other way round."""
    rest = [argument for argument in arguments if not _is(argument, neutral)]
    if any(_is(argument, not neutral) for argument in rest):
        return Literal(not neutral, BOOLEAN)
    if rest and all(isinstance(argument, Literal) for argument in rest):
        return Literal(None, BOOLEAN)
    match rest:
        case []:
            return Literal(neutral, BOOLEAN)
        case [only]:
            return only
        case _:
            return node if len(rest) == len(arguments) else replace(node, arguments=tuple(rest))


def _is(expression: Expression, value: bool) -> bool:
    return isinstance(expression, Literal) and expression.value is value


def _case(node: Case) -> Expression:
    """Arms that are never taken go; the first that is always taken is the last."""
    conditions: list[Expression] = []
    values: list[Expression] = []
    otherwise = node.otherwise
    for condition, value in zip(node.conditions, node.values, strict=True):
        if _is(condition, True):
            otherwise = value
            break
        if not isinstance(condition, Literal):
            conditions.append(condition)
            values.append(value)
    if not conditions:
        return otherwise
    if len(conditions) == len(node.conditions):
        return node
    return Case(tuple(conditions), tuple(values), otherwise, node.type)
