"""Queries that are compiled, emulated and compared with the cost models' estimates: SNEE's own, and one for
each kind of operator that motes run.

None of them is among the micro-programs to which the models were fitted. Every condition holds for every
reading, and every row of a grouped aggregate is in a group of its own. That is the largest possible load, for
which the plans are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.laboratory.scenarios import EXAMPLE_LINKS

if TYPE_CHECKING:
    from nilometer.engine.motes import Emulation

SCHEMA: Final = """
CREATE STREAM River (id INT, time INT UNIT 's', rain INT, depth INT, moisture FLOAT, temp FLOAT) SENSED EVERY 10 SECONDS;
CREATE STREAM Hilltop (id INT, time INT UNIT 's', rain INT) SENSED EVERY 10 SECONDS;
"""

RUNNING_EXAMPLE: Final = """RSTREAM SELECT River.time, Hilltop.rain, River.depth
FROM River[NOW], Hilltop[AT NOW-10 SECONDS] WHERE Hilltop.rain > 5 AND River.rain < Hilltop.rain"""

SEED: Final = 2010

BROOK: Final[Mapping[str, Sequence[int]]] = {"river": (5, 6, 7, 9), "hilltop": (4,)}
"""The sites that sense each stream in SNEE's Fig. 3."""


@dataclass(frozen=True)
class MoteQuery:
    """A query and the sites that sense its streams (`hosts`).

    It runs on SNEE's brook, or on a `grid` (width and height; 0 is the sink, in a corner, and each node hears
    its four neighbours). With `retries` packets are acknowledged; none is lost.
    """

    name: str
    text: str
    beta: int
    periods: int = 4
    hosts: Mapping[str, Sequence[int]] = field(default_factory=lambda: BROOK)
    grid: tuple[int, int] | None = None
    retries: int = 0

    @property
    def network(self) -> Network:
        """The network on which the query runs."""
        where = brook(self.hosts) if self.grid is None else grid(*self.grid, self.hosts)
        return replace(where, retries=self.retries)


MOTE_QUERIES: Final = (
    MoteQuery("running example", RUNNING_EXAMPLE, 12),
    MoteQuery("selection (Q1)", "RSTREAM SELECT River.time, River.depth FROM River[NOW]", 20),
    MoteQuery("aggregation (Q2)", "RSTREAM SELECT AVG(River.depth) FROM River[NOW]", 16),
    MoteQuery("aggregation, nothing buffered", "SELECT MAX(depth) AS m FROM River [NOW]", 1, 12),
    MoteQuery("row window", "SELECT id, depth FROM River [RANGE 5 ROWS]", 6, 8),
    MoteQuery("row window, one site", "SELECT rain FROM Hilltop [RANGE 4 ROWS SLIDE 3 ROWS]", 9, 8),
    MoteQuery("row window that slides", "SELECT id, depth FROM River [RANGE 5 ROWS SLIDE 3 ROWS]", 6, 8),
    MoteQuery("its aggregate", "SELECT AVG(depth) AS d FROM River [RANGE 8 ROWS SLIDE 4 ROWS]", 10),
    MoteQuery(
        "its aggregate, seldom", "SELECT MAX(depth) AS d FROM River [RANGE 24 ROWS SLIDE 12 ROWS]", 10, 12
    ),
    MoteQuery("time window", "SELECT SUM(depth) AS s, MIN(rain) AS r FROM River [RANGE 60 SECONDS]", 10),
    MoteQuery(
        "time window that slides",
        "SELECT SUM(depth) AS s FROM River [RANGE 60 SECONDS SLIDE 30 SECONDS]",
        10,
        6,
    ),
    MoteQuery("its rows", "SELECT id, depth FROM River [RANGE 30 SECONDS SLIDE 20 SECONDS]", 6, 12),
    MoteQuery("FLOAT aggregate", "SELECT AVG(moisture) AS m, MAX(temp) AS t FROM River [NOW]", 10),
    MoteQuery(
        "FLOAT arithmetic", "SELECT moisture * 1.5 AS m, temp FROM River [NOW] WHERE moisture > -1.0", 8
    ),
    MoteQuery(
        "grouped aggregate", "SELECT id, COUNT(*) AS n, SUM(depth) AS d FROM River [NOW] GROUP BY id", 10
    ),
    MoteQuery("grouped FLOAT aggregate", "SELECT id, AVG(temp) AS t FROM River [NOW] GROUP BY id", 10),
    MoteQuery(
        "grouped time window",
        "SELECT id, MAX(depth) AS d, AVG(temp) AS t FROM River [RANGE 40 SECONDS SLIDE 20 SECONDS] GROUP BY id",
        6,
        8,
    ),
    MoteQuery("three states", "SELECT STDEV(depth) AS d, VARIANCE(rain) AS v FROM River [NOW]", 10),
    MoteQuery(
        "aggregated join",
        "SELECT COUNT(*) AS n, SUM(R.depth) AS s FROM River [NOW] R, Hilltop [NOW] H WHERE R.rain < H.rain",
        8,
    ),
    MoteQuery(
        "30 nodes, aggregation",
        "SELECT MAX(depth) AS deepest, COUNT(*) AS readings FROM River [NOW]",
        8,
        2,
        {"river": (2, 5, 9, 12, 16, 18, 22, 25, 28), "hilltop": (29,)},
        (6, 5),
    ),
    MoteQuery(
        "30 nodes, join",
        RUNNING_EXAMPLE,
        16,
        3,
        {"river": (1, 3, 8, 15, 20, 23, 26), "hilltop": (17, 29)},
        (6, 5),
    ),
    MoteQuery(
        "30 nodes, row window",
        "SELECT MIN(depth) AS d, COUNT(*) AS n FROM River [RANGE 20 ROWS SLIDE 10 ROWS]",
        8,
        6,
        {"river": (4, 7, 13, 19, 24, 27), "hilltop": (29,)},
        (6, 5),
    ),
)


def measured(query: MoteQuery, directory: Path) -> Emulation:
    """Compile the query and run it on readings for which every condition is true."""
    from nilometer.engine import connect
    from nilometer.engine.motes import CompileOptions, EmulationOptions, compile_query, emulate
    from nilometer.placement import QualityOfService
    from nilometer.sensornet.motes.readings import random_readings

    database = connect()
    database.execute(SCHEMA)
    asked = database.sql(query.text)
    expected = QualityOfService.of(buffering_factor=query.beta)
    compiled = compile_query(asked, directory, CompileOptions(query.network, expected))
    readings = random_readings(compiled.motes, query.beta * query.periods, SEED, {"rain": 12})
    for series in readings.get("hilltop", {}).values():
        for reading in series:
            reading["rain"] = 20  # type: ignore[index]  # ours to change: more than it rains at the river
    return emulate(asked, compiled, EmulationOptions(readings=readings))


def brook(hosts: Mapping[str, Sequence[int]] = BROOK) -> Network:
    """The ten motes of SNEE's Fig. 3."""
    return _network("brook", 10, EXAMPLE_LINKS, hosts)


def grid(width: int, height: int, hosts: Mapping[str, Sequence[int]]) -> Network:
    """Motes in rows and columns."""
    count = width * height
    across = ((number, number + 1) for number in range(count) if (number + 1) % width)
    down = ((number, number + width) for number in range(count - width))
    return _network("grid", count, (*across, *down), hosts)


def _network(
    name: str, count: int, links: tuple[tuple[int, int], ...], hosts: Mapping[str, Sequence[int]]
) -> Network:
    nodes = (
        NetworkNode(
            number,
            4096,
            131_072,
            streams=tuple(stream for stream, sites in hosts.items() if number in sites),
        )
        for number in range(count)
    )
    return Network(name, 0, tuple(nodes), tuple(Link(*pair) for pair in links))
