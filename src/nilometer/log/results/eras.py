"""Eras of a standing query: how its streams were declared while it answered, one era after the other.

DELAY, KEY and FUTURE of a stream decide which readings count and when a window is complete. When one of them
changes, a new era begins at the last commit. A state that is made again reads each part of the logs under the
declarations of its time, so it is the state that answered, and no window is answered twice or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nilometer.log.reader import Offset

Declared = Mapping[str, Mapping[str, Any]]
"""By the stream's lower-case name: its delay, key and future."""

MOST = 32
"""The number of eras that are remembered. Older ones are taken for the first of these."""


@dataclass(frozen=True)
class Era:
    """`declared` held up to the offsets `until`; None: it holds now."""

    declared: Declared
    until: Mapping[str, Offset] | None = None

    def note(self) -> dict[str, Any]:
        """The era in its JSON form."""
        until = None if self.until is None else {k: [at.number, at.position] for k, at in self.until.items()}
        return {"declared": {k: dict(v) for k, v in self.declared.items()}, "until": until}

    @staticmethod
    def of(note: Mapping[str, Any]) -> Era:
        """The inverse of `note`."""
        until = note["until"]
        return Era(note["declared"], None if until is None else {k: Offset(*at) for k, at in until.items()})


def following(eras: Sequence[Era], declared: Declared, committed: Mapping[str, Offset]) -> tuple[Era, ...]:
    """The eras of a query that goes on after its last commit with these declarations. Commits of older
    releases have no eras: the declarations count as unchanged."""
    if not eras:
        return (Era(declared),)
    if eras[-1].declared == declared:
        return tuple(eras)
    return (*eras[:-1], Era(eras[-1].declared, dict(committed)), Era(declared))[-MOST:]


def changes(eras: Sequence[Era]) -> list[str]:
    """What changed at the last change, for people: 'DELAY of air'."""
    if len(eras) < 2:
        return []
    before, now = eras[-2].declared, eras[-1].declared
    return [
        f"{word.upper()} of {stream}"
        for stream, said in now.items()
        for word, value in said.items()
        if before.get(stream, {}).get(word) != value
    ]
