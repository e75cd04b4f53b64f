"""Walks over the nodes of a syntax tree.

>>> from nilometer.language import ast, parse
>>> [
...     node.text
...     for node in walk(parse("SELECT R.depth FROM river R WHERE rain > 5"))
...     if isinstance(node, ast.Name)
... ]
['R.depth', 'rain']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from nilometer.language import ast

_FIELDS: dict[type[ast.Node], tuple[str, ...]] = {}


def children(node: ast.Node) -> list[ast.Node]:
    """The nodes directly below, in the order of the text (fields are declared in that order)."""
    names = _FIELDS.get(type(node))
    if names is None:
        names = _FIELDS[type(node)] = tuple(field.name for field in fields(node) if field.name != "span")
    found: list[ast.Node] = []
    for name in names:
        value = getattr(node, name)
        if isinstance(value, ast.Node):
            found.append(value)
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, ast.Node):
                    found.append(item)
                elif isinstance(item, tuple):  # the pairs of CASE
                    found.extend(part for part in item if isinstance(part, ast.Node))
    return found


def walk(node: ast.Node) -> Iterator[ast.Node]:
    """The node and all below it, parents first; without recursion, so that the height has no limit."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def height(node: ast.Node) -> int:
    """The number of nodes on the longest path down."""
    tallest = 0
    stack = [(node, 1)]
    while stack:
        node, depth = stack.pop()
        tallest = max(tallest, depth)
        stack.extend((child, depth + 1) for child in children(node))
    return tallest


def names_in(node: ast.Node) -> list[ast.Name]:
    """The names outside of subqueries."""
    if isinstance(node, ast.Name):
        return [node]
    return [
        name for child in children(node) if not isinstance(child, ast.QueryNode) for name in names_in(child)
    ]


def replace_names(node: ast.Expression, change: Callable[[ast.Name], ast.Expression]) -> ast.Expression:
    """The expression with every name outside of its subqueries replaced by `change(name)`."""

    def changed(value: Any) -> Any:
        match value:
            case ast.Name():
                return change(value)
            case ast.QueryNode():
                return value
            case ast.Node():
                parts = {f.name: getattr(value, f.name) for f in fields(value) if f.name != "span"}
                others = {name: new for name, old in parts.items() if (new := changed(old)) is not old}
                return replace(value, **others) if others else value
            case tuple():
                items = tuple(changed(item) for item in value)
                return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
            case _:
                return value

    found = changed(node)
    assert isinstance(found, ast.Expression)
    return found
