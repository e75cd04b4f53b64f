"""Recognises the calls of aggregate functions in the syntax tree."""

from __future__ import annotations

from typing import TypeGuard

from nilometer.algebra import Shift
from nilometer.catalog import functions
from nilometer.language import ast


def is_aggregate_call(node: ast.Node) -> bool:
    """Whether a syntax node is a call of an aggregate function."""
    if not isinstance(node, ast.FunctionCall):
        return False
    signature = functions.resolve(node.name)
    return signature is not None and signature.kind == "aggregate"


def is_shift_call(node: ast.Node) -> TypeGuard[ast.FunctionCall]:
    """Whether a syntax node is a call of LAG, DELTA or RATE."""
    return isinstance(node, ast.FunctionCall) and node.name.upper() in set(Shift)
