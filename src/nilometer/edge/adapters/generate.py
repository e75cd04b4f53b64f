"""A generator of frames -> readings: simulated sensors, as fast as possible or paced, that obey commands if they can.

`generate://plume?sensors=64&seed=7&speed=60`. The generators are given to the registry by whoever has some (the laboratory, which
the edge may not import): a name and a function of the URL's other options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.catalog.near_misses import near_misses
from nilometer.edge.adapters.adapter import Clock, Command
from nilometer.edge.adapters.address import Address
from nilometer.edge.adapters.replay import BATCH, PacedAdapter
from nilometer.edge.payloads import Garbled
from nilometer.edge.readers import read_frame
from nilometer.errors import ConfigurationError


class Field(Protocol):
    """Simulated sensors."""

    def frames(self) -> Iterator[pl.DataFrame]:
        """Their readings, in pieces, in the order of arrival."""

    def command(self, sensor: int | str, command: Command) -> bool:
        """Obey from the next piece on; False if it cannot."""


Generators = Mapping[str, Callable[[Mapping[str, str]], Field]]
"""Fields by name, from the options of a URL."""


class GenerateAdapter(PacedAdapter):
    """Simulated sensors."""

    def __init__(self, stream: Stream, address: Address, clock: Clock, generators: Generators) -> None:
        super().__init__(
            stream, clock, speed=address.number("speed", 0.0), batch=address.count("batch", BATCH)
        )
        name = address.host or address.path
        if name not in generators:
            raise ConfigurationError(f"no generator '{name}'", hint=near_misses(name, generators))
        options = {key: value for key, value in address.options.items() if key not in ("speed", "batch")}
        self.field = generators[name](options)

    def frames(self) -> Iterator[tuple[pl.DataFrame, tuple[Garbled, ...]] | None]:
        for frame in self.field.frames():
            reading = read_frame(frame, self.stream)
            letters = tuple(
                Garbled(b"", letter.reason, str(letter.line)) for letter in reading.dead_letters[:1]
            )
            yield (
                reading.rows,
                tuple(
                    Garbled(letter.payload, letter.reason, letter.source, reading.garbled)
                    for letter in letters
                ),
            )

    def command(self, sensor: int | str, command: Command) -> bool:
        return self.field.command(sensor, command)
