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

from collections.abc import Iterator
from dataclasses import fields

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
