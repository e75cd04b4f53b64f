"""What a station meets outside itself: clocks, sources, sensors that can be programmed, threads, and failures that are asked for.

The defaults are the world; a simulation or a test gives its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from nilometer.catalog import Stream
from nilometer.ingest.adapters import Clock
from nilometer.ingest.adapters.generate import Generators
from nilometer.ingest.manager import running
from nilometer.ingest.manager.source import AdapterFor
from nilometer.live.background_read import BackgroundRead, Read, Reading
from nilometer.live.proxies.demand import Demand
from nilometer.live.proxies.fleet import Programs
from nilometer.log.failpoints import Failpoint


def system_clock() -> int:
    """The present moment in microseconds since the epoch."""
    return time.time_ns() // 1_000


def no_program(stream: Stream, demands: tuple[Demand, ...]) -> None:
    """Sensors run no programs of ours."""
    del stream, demands


@dataclass(frozen=True)
class Outside:
    """`clock` tells the time of day, and `steady` how time passes; without one, a clock that was given does both, and the system's may jump.
    `adapter_of` makes a stream's source, by default from its address; `generators` are for `generate://` addresses. `program_for`: what runs at
    sensors themselves. `begin_read`: how tables are read anew, by default in a thread. `failpoint` is told of each step that a crash may
    follow."""

    clock: Clock = system_clock
    steady: Clock | None = None
    generators: Generators | None = None
    adapter_of: AdapterFor | None = None
    program_for: Programs = no_program
    begin_read: Callable[[Read], Reading] = BackgroundRead
    failpoint: Failpoint | None = None

    @property
    def steady_clock(self) -> Clock | None:
        """What measures how time passes; None: `clock`."""
        return running if self.steady is None and self.clock is system_clock else self.steady
