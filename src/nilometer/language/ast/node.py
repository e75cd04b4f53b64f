"""The base of all syntax nodes."""

from __future__ import annotations

from dataclasses import dataclass, field

from nilometer.errors import NOWHERE, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The base of all syntax nodes."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)
