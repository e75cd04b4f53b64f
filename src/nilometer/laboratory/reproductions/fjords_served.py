"""Fjords' experiments with combined queries (fjords.txt section 4.3), through the loop of `serve`: standing queries,
each of whose answers are durable.

Query 1 is a filter, as in Figs. 8 and 9. Query 2 joins the readings with a stored table of incidents and averages them;
of it the paper says in words that 50 queries cost seven percent less each than one alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from nilometer.engine import connect
from nilometer.laboratory.benchmarks.queries import Tap
from nilometer.laboratory.reproductions import verdict
from nilometer.laboratory.reproductions.verdict import Ratio
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.types import SECOND

SCHEMA = """CREATE STREAM traffic (lane INT, station INT, speed FLOAT, flow INT) PUSHED FROM 'bench://traffic';
CREATE TABLE incidents (lane INT, description STRING) STORED AT '{}';"""
LANES = 5


class Standing(NamedTuple):
    """How many queries: Query 1 together and one each, Query 1 together, Query 2 together."""

    eighth: Sequence[int]
    ninth: Sequence[int]
    second: Sequence[int]


STANDING = Standing((1, 2, 5, 10), (50, 200), (1, 10, 50))
BATCH = 100

Clock = Callable[[], float]


def query_1(number: int, count: int) -> str:
    """The speeds above a bound of its own."""
    bound = 20.0 + 100.0 * (number + 1) / (count + 1)
    return f"SELECT time, lane, station, speed, flow FROM traffic WHERE speed > {bound!r}"


def query_2(number: int, count: int) -> str:
    """The mean speed where an incident was reported, of the speeds above a bound of its own."""
    bound = 20.0 + 60.0 * (number + 1) / (count + 1)
    return (
        "SELECT i.description, AVG(s.speed) AS mean FROM traffic [RANGE 10 MINUTES SLIDE 10 MINUTES] s, incidents i"
        f" WHERE i.lane = s.lane AND s.speed > {bound!r} GROUP BY i.description"
    )


def served(rows: pl.DataFrame, counts: Standing, clock: Clock) -> dict[str, dict[str, Any]]:
    """The figures, by their titles."""
    short = rows[: max(1, rows.height // 5)]
    seconds(short[:BATCH], query_2, 1, clock)  # compiles the kernels
    together = {n: seconds(rows, query_1, n, clock) for n in sorted({*counts.eighth, *counts.ninth})}
    each = {n: sum(seconds(rows, query_1, 1, clock, at, n) for at in range(n)) for n in counts.eighth}
    both = [{n: seconds(short, text, n, clock) for n in counts.second} for text in (query_1, query_2)]
    return {
        "Figs. 8 and 9 through `serve`": _figures(rows.height, together, each, counts.eighth),
        "Section 4.3.2, Query 2 beside Query 1, through `serve`": _second(*both),
    }


def seconds(
    rows: pl.DataFrame,
    text: Callable[[int, int], str],
    count: int,
    clock: Clock,
    first: int = 0,
    of: int | None = None,
) -> float:
    """How long one process takes for the readings with this many standing queries, from `first` on, of so many."""
    waiting: list[pl.DataFrame] = []
    now = int(rows["time"][0])
    with tempfile.TemporaryDirectory(prefix="nilometer-fjords-") as place:
        folder = Path(place)
        lanes = range(1, LANES + 1)
        table = {"lane": lanes, "description": [f"incident {lane % 3}" for lane in lanes]}
        pl.DataFrame(table).write_parquet(folder / "incidents.parquet")
        (folder / "schema.sql").write_text(SCHEMA.format(folder / "incidents.parquet"))
        database = connect(folder)
        outside = Outside(clock=lambda: now, adapter_of=lambda stream, at: Tap(stream, at, waiting))
        with Station(database, folder, None, outside) as station:
            with station.together():
                for number in range(first, first + count):
                    station.install(database.sql(text(number, of or count)), f"q{number}", durable=True)
            before = clock()
            for batch in rows.iter_slices(BATCH):
                now = int(batch["time"][-1]) + SECOND
                waiting.append(batch)
                while waiting:
                    station.step()
            station.step()
            return max(clock() - before, 1e-9)


def _figures(
    records: int, together: dict[int, float], each: dict[int, float], counts: Sequence[int]
) -> dict[str, Any]:
    lines = [
        f"{records} records in batches of {BATCH}, standing queries, durable",
        "   n   one owner: ms, ms/query      tuples/s in all     one each: ms",
    ]
    for n, time in together.items():
        alone = f"{each[n] * 1e3:14.0f}" if n in each else ""
        lines.append(f"{n:4}  {time * 1e3:10.0f} {time * 1e3 / n:10.1f} {records * n / time:20,.0f} {alone}")
    first, last, most = counts[0], counts[-1], max(together)
    return verdict.measured(
        "the single-Fjord version outperforms the multi-Fjord version in all cases; total tuple throughput climbs\n"
        "with the number of queries",
        "\n".join(lines),
        wins=together[last] < each[last] and together[last] / last < together[first] / first,
        everywhere=all(together[n] < each[n] for n in counts if n > 1),
        ratios=[
            Ratio(
                f"one each: a query of {last} over a single one", 1, each[last] / last / (each[first] / first)
            )
        ],
        data=[
            {"queries": n, "together": time, "each": each.get(n), "most": most}
            for n, time in together.items()
        ],
    )


def _second(together: dict[int, float], joined: dict[int, float]) -> dict[str, Any]:
    lines = ["   n   Query 1: ms/query   Query 2: ms/query"]
    for n, time in joined.items():
        one = f"{together[n] * 1e3 / n:18.1f}" if n in together else " " * 18
        lines.append(f"{n:4}  {one} {time * 1e3 / n:19.1f}")
    first, last = min(joined), max(joined)
    cost = joined[last] / last / (joined[first] / first)
    return verdict.measured(
        "with Query 2, the cost of the join is high: 50 simultaneous queries have a per query cost which is only\n"
        "seven percent less than the cost of a single query",
        "\n".join(lines),
        wins=cost < 1,
        everywhere=cost < 1,
        ratios=[Ratio(f"Query 2: a query of {last} over a single one", 0.93, cost)],
        data=[{"queries": n, "seconds": time} for n, time in joined.items()],
    )
