"""Fjords' two experiments with combined queries (fjords.txt section 4.3, Figs. 8 and 9), beside the lifetimes
of Table 1.

n filter queries run over one stream of traffic, combined in one Fjord or in a Fjord each. The paper's times
on its machine cannot be measured again, but the shapes can: one Fjord beats many, each further query costs
less than the first, and with n the tuples per second over all queries rise while those per query fall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow import Batch, MemorySources
from nilometer.dataflow.graph import Graph
from nilometer.laboratory.reproductions import verdict
from nilometer.laboratory.reproductions.fjords_power import fjords_power
from nilometer.laboratory.reproductions.fjords_served import STANDING, Standing, served
from nilometer.laboratory.reproductions.verdict import Ratio
from nilometer.plan import physical
from nilometer.simulated.fields import TrafficLoop
from nilometer.types import SECOND

RECORDS = 10_767
"""The number of records in the trace of section 4.3, in 30-second windows."""

FIGURE_8 = (1, 2, 3, 4, 5, 6, 8, 10)
FIGURE_9 = (1, 2, 5, 10, 20, 50, 100, 200)
BATCH = 100
"""Between one tuple at a time, which is how the paper's Fjords work, and all at once. Ours are made for
batches."""

SCHEMA = "CREATE STREAM traffic (lane INT, station INT, speed FLOAT, flow INT) PUSHED;"

Clock = Callable[[], float]


@dataclass(frozen=True)
class Point:
    """One measurement: n queries, in one Fjord or one each, with batches of this number of rows."""

    queries: int
    folded: bool
    kind: str
    batch: int
    rows: int
    seconds: float

    @property
    def per_query(self) -> float:
        """Seconds per query."""
        return self.seconds / self.queries

    @property
    def tuples(self) -> float:
        """Tuples per second over all queries: each query sees all of them."""
        return self.rows * self.queries / self.seconds

    def as_dict(self) -> dict[str, Any]:
        """The measurement and its derived values."""
        return {
            "queries": self.queries,
            "fjords": 1 if self.folded else self.queries,
            "filter": self.kind,
            "batch": self.batch,
            "seconds": self.seconds,
            "seconds_per_query": self.per_query,
            "tuples_per_second": self.tuples,
            "tuples_per_second_per_query": self.tuples / self.queries,
        }


def fjords(
    records: int = RECORDS,
    figure_8: Sequence[int] = FIGURE_8,
    figure_9: Sequence[int] = FIGURE_9,
    repeats: int = 3,
    clock: Clock = process_time,
    plot: Path | None = None,
    standing: Standing = STANDING,
) -> dict[str, Any]:
    """Table 1's lifetimes, and Figs. 8 and 9 measured on this machine. `plot` is the path for a picture of
    them."""
    stream, rows = traffic(records)
    # With one tuple at a time, every tuple is a round of every query: a twentieth of the trace is enough.
    short = rows[: max(1, records // 20)]
    eighth = [
        measure(stream, short, n, folded, kind, 1, repeats, clock)
        for n in figure_8
        for folded in (True, False)
        for kind in ("none", "filter")
    ]
    ninth = [
        measure(stream, rows if batch > 1 else short, n, True, "filter", batch, repeats, clock)
        for batch in (1, BATCH, records)
        for n in figure_9
    ]
    power = fjords_power()
    lifetimes = "Section 5.2, power and lifetime at 180 Hz"
    result = {
        "name": "fjords",
        "title": "Fjords: lifetimes of Table 1, and queries combined in one Fjord (Figs. 8 and 9)",
        "figures": {
            f"Table 1, {lifetimes}": power["figures"][lifetimes],
            "Fig. 8, one Fjord against one each": _figure_8(eighth),
            "Fig. 9, many queries in one Fjord": _figure_9(ninth),
            **served(rows, standing, clock),
        },
        "assumptions": [
            f"the trace is not public: {records} records of the paper's columns (time, lane, station, speed, flow) every 30 "
            "seconds, from our generator of traffic loops; Fig. 8 and the first part of Fig. 9 use the first twentieth of it",
            "the paper's filters are not printed: each query is `speed > c` with its own c, evenly spread, or (as its 'no "
            "filter') a query that passes every record on",
            "the paper gives each Fjord its own thread and a tuple pool of 4 MB; ours run in one thread, one after the other, "
            "without pools: what is shared is the queue, the door (lateness, ticks) and the wave. The paper's null "
            "operator is left out: our modules forward a frame without copying it",
            "the paper's filters are an operator each, so its time grows with n at 300 ms a query; ours find all ranges by "
            "one sorted search (as its reference to NiagaraCQ suggests), so further queries cost less still, and the tuples "
            "per second may go on climbing where the paper's level off at 20 queries",
            f"times are processor times on this machine, so that what else runs on it does not count, the best of {repeats}, from the "
            "first push to the last answer fetched; the paper's machine was unloaded and had one thread at work",
            "through `serve` the queries are standing queries of one process, each of whose answers are durable; 'one each' is "
            "a process's work for each, one after the other. Query 2 reads the first fifth of the trace; its incidents are a "
            "stored table of five lanes",
            *power["assumptions"][:2],
        ],
    }
    if plot is not None:
        draw(eighth, ninth, plot)
        result["plot"] = str(plot)
    return result


def traffic(records: int) -> tuple[Stream, pl.DataFrame]:
    """The stream and its readings."""
    from nilometer.engine import connect

    database = connect()
    database.execute(SCHEMA)
    stream = database.catalog.stream("traffic")
    source = TrafficLoop(sensor_count=1, interval=30 * SECOND, duration=30 * SECOND * records, seed=2000)
    frame = source.calm_frame()[:records]
    random = np.random.default_rng(2000)
    rows = frame.select(
        "time",
        "id",
        pl.Series("lane", random.integers(1, 6, records)),
        pl.lit(1, dtype=pl.Int64).alias("station"),
        "speed",
        pl.col("vehicles").alias("flow"),
    )
    return stream, rows.select(column.name for column in stream.columns)


def plans(queries: int, kind: str) -> list[physical.Node]:
    """Filter queries with different constants, or queries without a filter that give the same columns
    different names."""
    from nilometer.engine import connect

    database = connect()
    database.execute(SCHEMA)
    bounds = np.linspace(20.0, 120.0, queries + 2)[1:-1]
    texts = [
        f"SELECT time, lane, station, speed, flow FROM traffic WHERE speed > {bound!r}"
        if kind == "filter"
        else f"SELECT time AS t{number}, lane, station, speed, flow FROM traffic"
        for number, bound in enumerate(bounds.tolist())
    ]
    return [database.sql(text).physical for text in texts]


def measure(
    stream: Stream,
    rows: pl.DataFrame,
    queries: int,
    folded: bool,
    kind: str,
    batch: int,
    repeats: int,
    clock: Clock,
) -> Point:
    """The best of several runs."""
    batches = [Batch(piece) for piece in rows.iter_slices(batch)]
    chosen = plans(queries, kind)
    best = float("inf")
    for _ in range(repeats):
        one = Graph(MemorySources())
        several = [one] * queries if folded else [Graph(MemorySources()) for _ in chosen]
        for number, (fjord, plan) in enumerate(zip(several, chosen, strict=True)):
            fjord.install(f"q{number}", plan, start=0)
        distinct = [one] if folded else several
        before = clock()
        for piece in batches:
            for fjord in distinct:
                fjord.push(stream.name, piece)
                fjord.run()
            for number, fjord in enumerate(several):
                fjord.answers(f"q{number}")
        best = min(best, clock() - before)
    return Point(queries, folded, kind, batch, rows.height, max(best, 1e-9))


def _figure_8(points: list[Point]) -> dict[str, Any]:
    by_place = {(p.queries, p.folded, p.kind): p for p in points}
    counts = sorted({p.queries for p in points})
    lines = [
        f"{points[0].rows} records, a tuple at a time; milliseconds in all, and per query",
        "   n   one Fjord, filter      no filter   one each, filter      no filter",
    ]
    for n in counts:
        cells = []
        for folded in (True, False):
            for kind in ("filter", "none"):
                point = by_place[n, folded, kind]
                cells.append(f"{point.seconds * 1e3:8.1f} {point.per_query * 1e3:7.1f}")
        lines.append(f"{n:4}  " + "  ".join(cells))
    first, last = counts[0], counts[-1]
    together, apart = ([by_place[n, folded, "filter"] for n in counts if n > 1] for folded in (True, False))
    beats = all(one.seconds < each.seconds for one, each in zip(together, apart, strict=True))
    cheaper = by_place[last, True, "filter"].per_query < by_place[first, True, "filter"].per_query
    alone = by_place[last, False, "filter"].per_query / by_place[first, False, "filter"].per_query
    return verdict.measured(
        "the single-Fjord version outperforms the multi-Fjord version in all cases; in it additional queries are\n"
        "less expensive than the first, with a Fjord each they are about the same amount of work as a single query",
        "\n".join(lines),
        wins=together[-1].seconds < apart[-1].seconds and cheaper,
        everywhere=beats,
        ratios=[Ratio(f"a Fjord each: a query of {last} over a single one", 1, alone)],
        data=[point.as_dict() for point in points],
    )


def _figure_9(points: list[Point]) -> dict[str, Any]:
    lines = []
    climbs, levels = [], []
    for batch in sorted({p.batch for p in points}):
        own = [p for p in points if p.batch == batch]
        lines.append(f"{own[0].rows} records in batches of {batch}: tuples/s in all, and per query")
        lines += [f"{p.queries:4} {p.tuples:15,.0f} {p.tuples / p.queries:15,.0f}" for p in own]
        first, middle, last = own[0], min(own, key=lambda p: abs(p.queries - 20)), own[-1]
        lines.append(
            f"     in all {middle.tuples / first.tuples:.1f} times as many with {middle.queries} queries as with {first.queries}, "
            f"{last.tuples / middle.tuples:.1f} times as many with {last.queries} as with {middle.queries}"
        )
        climbs.append(middle.tuples > first.tuples > last.tuples / last.queries)
        levels.append(last.tuples / middle.tuples)
    # One tuple at a time, the first batch size, is how the paper's Fjords work.
    return verdict.measured(
        "total tuple throughput climbs up to about 20 queries, and then remains fairly constant;\n"
        "tuples per second per query fall as queries are added",
        "\n".join(lines),
        wins=climbs[0],
        everywhere=all(climbs),
        ratios=[Ratio("tuples/s of the most queries over those of 20, a tuple at a time", 1, levels[0])],
        data=[point.as_dict() for point in points],
    )


def draw(eighth: list[Point], ninth: list[Point], path: Path) -> None:
    """The four panels of Figs. 8 and 9 as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(11, 8), layout="constrained")
    total, each, throughput, share = panels.ravel()
    for folded in (True, False):
        for kind in ("filter", "none"):
            own = [p for p in eighth if p.folded is folded and p.kind == kind]
            label = f"{'one Fjord' if folded else 'a Fjord each'}, {'filter' if kind == 'filter' else 'no filter'}"
            style = {"marker": "o" if folded else "s", "linestyle": "-" if kind == "filter" else "--"}
            total.plot([p.queries for p in own], [p.seconds * 1e3 for p in own], label=label, **style)
            each.plot([p.queries for p in own], [p.per_query * 1e3 for p in own], label=label, **style)
    for batch in sorted({p.batch for p in ninth}):
        own = [p for p in ninth if p.batch == batch]
        label = f"batches of {batch}"
        throughput.plot([p.queries for p in own], [p.tuples for p in own], marker="o", label=label)
        share.plot([p.queries for p in own], [p.tuples / p.queries for p in own], marker="o", label=label)
    titles = (
        "Fig. 8(a): total time",
        "Fig. 8(b): time per query",
        "Fig. 9(a): total",
        "Fig. 9(b): per query",
    )
    for panel, title, unit in zip(
        (total, each, throughput, share), titles, ("ms", "ms", "tuples/s", "tuples/s"), strict=True
    ):
        panel.set(title=title, xlabel="queries", ylabel=unit)
        panel.legend()
    for panel in (total, each):
        panel.set(ylim=(0, None))
    for panel in (throughput, share):
        panel.set(xscale="log", yscale="log")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
