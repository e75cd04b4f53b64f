"""Every operator there is: classes with a Spec's shape (operators/logic.py), found by looking into the packages."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints

PACKAGES = ("nilometer.operators", "nilometer.phenomena", "nilometer.mining")
"""Where operators live; the last two are planned."""


def discovered() -> set[type[Any]]:
    """The frozen dataclasses whose `build` gives a Logic."""
    return {
        found
        for name in _modules()
        for found in vars(importlib.import_module(name)).values()
        if isinstance(found, type) and found.__module__ == name and is_spec(found)
    }


def is_spec(found: type[Any]) -> bool:
    """Whether it has a Spec's shape: `build() -> Logic`."""
    if not is_dataclass(found) or not callable(getattr(found, "build", None)):
        return False
    gives = get_type_hints(found.build).get("return")
    return all(_is_logic(one) for one in get_args(gives) or (gives,))


def _is_logic(given: object) -> bool:
    methods = ("update", "advance", "snapshot", "restore")
    return all(callable(getattr(given, method, None)) for method in methods)


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        if importlib.util.find_spec(package) is not None:
            path = importlib.import_module(package).__path__
            yield from (module.name for module in pkgutil.walk_packages(path, f"{package}."))
