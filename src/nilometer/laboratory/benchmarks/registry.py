"""Finds an entry by its name; the error for an unknown name lists the known ones."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from nilometer.errors import ConfigurationError

Entry = TypeVar("Entry", bound=Callable[..., object])


def named(entries: Mapping[str, Entry], name: str, kind: str) -> Entry:
    """The entry of that name."""
    check(entries, name, kind)
    return entries[name]


def check(names: Iterable[str], name: str, kind: str) -> None:
    """Refuse an unknown name."""
    known = list(names)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known)}"
        raise ConfigurationError(f"no {kind} '{name}'", hint=hint)
