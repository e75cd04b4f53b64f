"""The events of a simulated network, for its report: deaths and repairs."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.catalog.network import NodeId
from nilometer.errors import ConfigurationError
from nilometer.plan.bind.parameters import given_duration


@dataclass(frozen=True)
class Kill:
    """A node that is killed `after` that many microseconds of the run."""

    node: NodeId
    after: int


@dataclass(frozen=True)
class Death:
    """A node that died, the time in microseconds after the start, and the reason: `killed`, or `battery`."""

    node: NodeId
    after: int
    reason: str


def parse_kill(text: str) -> Kill:
    """`3@40 DAYS`, or `3@12h`.

    >>> parse_kill("3@12h")
    Kill(node=3, after=43200000000)
    """
    node, at, time = text.rpartition("@")
    if not node or not at:
        raise ConfigurationError(
            f"'{text}' does not say which node dies, and when",
            hint="write NODE@TIME, such as 3@40d or '3@40 DAYS'",
        )
    return Kill(
        int(node) if node.lstrip("-").isdigit() else node, given_duration(time, f"the time of '{text}'")
    )
