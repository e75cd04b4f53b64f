"""Every operator shows an example in its docstring, and every example in a docstring of the package is right."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import nilometer.operators

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(nilometer.operators.__path__, "nilometer.operators.")
    if not module.ispkg
)
CONTRACT = "nilometer.operators.logic"
"""Where Spec and Logic are defined: an operator of no kind."""


def _has_spec(name: str) -> bool:
    """Whether a module has a class that can be built into a Logic."""
    source = Path(importlib.import_module(name).__file__ or "").read_text(encoding="utf-8")
    return any(
        isinstance(part, ast.FunctionDef) and part.name == "build"
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
        for part in node.body
    )


OPERATORS = [name for name in MODULES if name != CONTRACT and _has_spec(name)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_right(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_shows_an_example(name: str) -> None:
    found = doctest.DocTestFinder().find(importlib.import_module(name))
    assert any("build()" in example.source for test in found for example in test.examples)


def test_there_are_operators() -> None:
    assert len(OPERATORS) > 15
