"""Turns an unknown name into a hint that shows the nearest known names.

>>> near_misses("rivre", ["river", "hilltop"])
"did you mean 'river'?"
>>> near_misses("x", ["river", "hilltop"])
"there are 'river' and 'hilltop'"
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 6
"""How many names a hint lists before it only counts the rest."""


def near_misses(name: str, known: Iterable[str]) -> str | None:
    """A hint with the closest of the known names, or with all if none is close; None if there are none at
    all."""
    spelled = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), spelled, n=3, cutoff=0.66)
    if close:
        return f"did you mean {join_names([spelled[match] for match in close], 'or')}?"
    if not spelled:
        return None
    names = list(spelled.values())
    return f"there {'is' if len(names) == 1 else 'are'} {join_names(names, 'and')}"


def join_names(names: Iterable[str], word: str) -> str:
    """'a', 'b' and 'c', quoted; a long list ends with the number of names left out.

    >>> join_names(["a", "b", "c"], "or")
    "'a', 'b' or 'c'"
    """
    quoted = [f"'{name}'" for name in names]
    if len(quoted) > SHOWN:
        return ", ".join(quoted[:SHOWN]) + f" {word} {len(quoted) - SHOWN} more"
    if len(quoted) < 2:
        return "".join(quoted)
    return ", ".join(quoted[:-1]) + f" {word} {quoted[-1]}"
