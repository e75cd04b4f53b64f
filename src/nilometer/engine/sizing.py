"""The rates and windows of a query's join, for `nilometer size`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer.errors import ConfigurationError
from nilometer.plan import logical
from nilometer.types import SECOND

if TYPE_CHECKING:
    from pathlib import Path

    from nilometer.catalog import Stream
    from nilometer.engine.database import Database


@dataclass(frozen=True)
class JoinSize:
    """The streams of a join, their windows in seconds, and their rates, as measured and as declared; None where one is not
    known."""

    streams: tuple[str, ...]
    windows: tuple[float, ...]
    measured: tuple[float | None, ...]
    declared: tuple[float | None, ...]

    @property
    def rates(self) -> tuple[float | None, ...]:
        """What was measured, else what is declared."""
        return tuple(
            there if found is None else found
            for found, there in zip(self.measured, self.declared, strict=True)
        )

    def known_rates(self) -> list[float]:
        """The rates; refuses a join with one that is not known."""
        for name, rate in zip(self.streams, self.rates, strict=True):
            if rate is None:
                raise ConfigurationError(
                    f"the rate of '{name}' is not known",
                    hint="take readings in, declare it (EXPECT EVERY 1 SECOND, and its sensors), or give --rate for each stream",
                )
        return [rate for rate in self.rates if rate is not None]


def join_of(database: Database, text: str) -> JoinSize:
    """The join of a query: streams joined by WINDOW, or windows with a RANGE."""
    from nilometer.kernels.window_bounds import implied_widths
    from nilometer.optimizer import OptimizerContext
    from nilometer.optimizer.load import rate_of

    plan = database.sql(text).logical
    context = OptimizerContext(database.catalog)
    base = database.data.base
    found: list[tuple[logical.Acquire, float]] = []
    for node in logical.walk_plan(plan):
        match node:
            case logical.WindowJoin():
                widths = implied_widths(
                    len(node.streams), [(one.left, one.right, one.width) for one in node.bounds]
                )
                for at, below in enumerate(node.streams):
                    found += [(leaf, float(widths[at].max()) / SECOND) for leaf in _leaves(below)]
            case logical.TimeWindow() if node.start is not None:
                found += [(leaf, (node.start - node.end) / SECOND) for leaf in _leaves(node)]
    if len(found) < 2:
        raise ConfigurationError(
            "the query joins no streams by windows of time",
            hint="size is about joins: FROM a, b WINDOW = 50 SECONDS WHERE a.x = b.x",
        )
    return JoinSize(
        tuple(leaf.alias for leaf, _ in found),
        tuple(length for _, length in found),
        tuple(None if base is None else _measured(base, leaf.stream) for leaf, _ in found),
        tuple(rate_of(leaf.stream, context) for leaf, _ in found),
    )


def _measured(base: Path, stream: Stream) -> float | None:
    """The rate in the kept statistics of a stream, else in the newest readings of its log."""
    from nilometer.catalog.measured import kept
    from nilometer.live.statistics import measure_log
    from nilometer.log import LogDirectory

    found = kept(base, stream.name)
    if found is None and LogDirectory(base).log(stream).exists:
        found = measure_log(base, stream)
    return None if found is None else found.rate


def _leaves(node: logical.Node) -> list[logical.Acquire]:
    return [leaf for leaf in logical.walk_plan(node) if isinstance(leaf, logical.Acquire)]


def seconds_of(text: str) -> float:
    """
    >>> seconds_of("50 s"), seconds_of("2 MINUTES")
    (50.0, 120.0)
    """
    from nilometer.plan.bind.parameters import given_duration

    return given_duration(text, "--window") / SECOND
