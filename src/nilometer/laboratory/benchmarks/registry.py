"""Names -> what they run, with an error that says what there is."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import TypeVar

from nilometer.errors import ConfigurationError

Entry = TypeVar("Entry", bound=Callable[..., object])


def named(entries: Mapping[str, Entry], name: str, kind: str) -> Entry:
    """The entry of that name."""
    if name not in entries:
        close = difflib.get_close_matches(name, list(entries), n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(entries)}"
        raise ConfigurationError(f"no {kind} '{name}'", hint=hint)
    return entries[name]
