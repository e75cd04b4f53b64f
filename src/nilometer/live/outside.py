"""The outside of a station: clocks, sources, programmable sensors, threads, and injected failures.

The defaults are the real world; a simulation or a test supplies its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from nilometer.catalog import Stream
from nilometer.ingest.adapters import Clock
from nilometer.ingest.adapters.generate import Generators
from nilometer.ingest.adapters.push import Pushes
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
    """The sensors cannot be programmed."""
    del stream, demands


@dataclass(frozen=True)
class Outside:
    """`clock` tells the time of day; `steady` measures elapsed time. Without `steady`, a given `clock` does
    both; the system's clock may jump.

    `adapter_of` makes a stream's source, by default from its address. `pushes` take the readings of streams that
    have none. `generators` serve `generate://` addresses. `program_for` picks the program that runs on sensors. `begin_read` starts a refresh of a table,
    by default in a thread. `failpoint` is called at each step after which a crash may come.
    """

    clock: Clock = system_clock
    steady: Clock | None = None
    generators: Generators | None = None
    adapter_of: AdapterFor | None = None
    pushes: Pushes | None = None
    program_for: Programs = no_program
    begin_read: Callable[[Read], Reading] = BackgroundRead
    failpoint: Failpoint | None = None

    @property
    def steady_clock(self) -> Clock | None:
        """The clock that measures elapsed time; None: `clock`."""
        return running if self.steady is None and self.clock is system_clock else self.steady
