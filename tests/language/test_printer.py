"""Canonical text; that it parses back is a property, in test_properties.py."""

from __future__ import annotations

from pathlib import Path

import pytest

import golden
from nilometer.language import ast, parse, print_expression, print_statement


def test_canonical_text(rewrite: bool) -> None:
    golden.read(Path(__file__).with_name("canonical.txt")).check(
        lambda text: print_statement(parse(text)), rewrite=rewrite
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_the_language_cannot_say_is_not_printed(value: float) -> None:
    with pytest.raises(ValueError, match="no way to write"):
        print_expression(ast.Constant(value))


@pytest.mark.parametrize("node", [ast.Statement(), ast.QueryNode()])
def test_bases_are_no_statements(node: ast.Statement | ast.QueryNode) -> None:
    with pytest.raises(TypeError):
        print_statement(node)


def test_a_base_is_no_expression() -> None:
    with pytest.raises(TypeError):
        print_expression(ast.Expression())
