"""Which observations are meant: parts of streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nilometer.server.sensorthings.sources import Source


@dataclass(frozen=True)
class Part:
    """A column of a stream, of some sensors (None: of all), with a feature (None: any). Without a column: the
    observations of Datastreams that clients have made, which are the sensors."""

    source: Source
    column: str | None
    sensors: tuple[Any, ...] | None
    feature: int | None = None


@dataclass(frozen=True)
class Selection:
    """Parts, in the order in which they are listed."""

    parts: tuple[Part, ...]
