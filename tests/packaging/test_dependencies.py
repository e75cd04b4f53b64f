"""Every library that the code imports is declared in pyproject.toml, so that an installed wheel is complete."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS_ONLY = {
    "spark": ("spark",),
    "laboratory": ("spark", "server"),
    "engine": ("spark",),
    "live": ("spark",),
    "server": ("server",),
    "ingest": ("kafka",),
    "sinks": ("kafka", "delta"),
}
"""The packages that may import the libraries of an extra, as they say so where it is missing."""

PEERS = {"pathway", "pyflink"}
"""Engines that `bench spark --peers` runs where somebody has installed them."""


def imports(path: Path) -> Iterator[str]:
    """The top-level names of what a file imports anywhere, except for type checkers."""
    tree = ast.parse(path.read_text())
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            left += node.orelse
        elif not isinstance(node, ast.expr):  # an import is a statement
            left += ast.iter_child_nodes(node)


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", line)[0].lower().replace("_", "-") for line in requirements}


def test_every_import_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    always = names(project["dependencies"])
    extras = {name: names(lines) for name, lines in project["optional-dependencies"].items()}
    distributions = packages_distributions()
    missing = set()
    for path in sorted((ROOT / "src" / "nilometer").rglob("*.py")):
        package = path.relative_to(ROOT / "src" / "nilometer").parts[0]
        allowed = always.union(*(extras[extra] for extra in EXTRAS_ONLY.get(package, ())))
        if package == "laboratory":
            allowed = allowed | extras["dev"]  # the peers of benchmarks
        for name in set(imports(path)) - sys.stdlib_module_names - {"nilometer", *PEERS}:
            found = {each.lower().replace("_", "-") for each in distributions.get(name, [name])}
            if not found & allowed:
                missing.add(f"{package} imports {name}")
    assert not missing
