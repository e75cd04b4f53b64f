"""Compares one workload on our side and on stock Spark, on the same micro-batches in the same session.

Each side runs once to warm up, and those answers are compared. Then they run in turn, with ours first and
stock Spark first alternately, so that neither the order nor a busy spell of the machine favours one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from nilometer.laboratory.benchmarks.spark import data, ours
from nilometer.laboratory.benchmarks.spark.answers import before, difference
from nilometer.laboratory.benchmarks.spark.micro_batches import MicroBatches, columns_for_spark, write
from nilometer.laboratory.benchmarks.spark.peers import run as stock
from nilometer.laboratory.benchmarks.spark.report import STOCK, Comparison
from nilometer.laboratory.benchmarks.spark.workloads import Workload

if TYPE_CHECKING:
    from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder
    from nilometer.laboratory.benchmarks.spark.peers.settings import StockSettings

OURS = "ours"


@dataclass(frozen=True)
class Ran:
    """A whole run: its seconds, from the text of the question to the last answer; the milliseconds of each
    micro-batch after the first (in which a query starts up); its answers."""

    seconds: float
    milliseconds: tuple[float, ...]
    answer: pl.DataFrame


Side = Callable[[], Ran]

Say = Callable[[str], None]
"""Reports progress, on stderr."""


@dataclass(frozen=True)
class Bench:
    """The setting of a benchmark: Spark's session (whose type only `nilometer.spark` knows), a folder for its
    files, and sizes."""

    session: Any
    place: Path
    rows: int
    sensors: int
    batch_rows: int
    repeats: int
    say: Say


@dataclass(frozen=True)
class Prepared:
    """A workload's micro-batches, on disk."""

    batches: MicroBatches
    folders: Mapping[str, Folder]
    sentinel: int
    sensors: int


def prepare(bench: Bench, workload: Workload, batch_rows: int, sensors: int) -> Prepared:
    """The data of a workload, written once for all workloads that need the same."""
    from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder

    rows = max(10, int(bench.rows * workload.share))
    place = bench.place / f"{'-'.join(workload.streams)}-{rows}-{sensors}-{batch_rows}"
    if len(workload.streams) == 1:
        frames = {workload.streams[0]: data.readings(rows, sensors)}
    else:
        frames = data.keyed(rows, sensors, workload.streams)
    each = -(-batch_rows // len(frames))
    if place.exists():
        total = sum(frame.height for frame in frames.values())
        batches = MicroBatches(place, workload.streams, each, total, -(-rows // each))
    else:
        batches = write(frames, each, place)
    folders = {
        name: Folder(batches.files(name), columns_for_spark(frame), data.DELAY)
        for name, frame in frames.items()
    }
    sentinel = min(int(frame["time"][-1]) for frame in frames.values())
    return Prepared(batches, folders, sentinel, sensors)


def compare(
    bench: Bench,
    workload: Workload,
    batch_rows: int | None = None,
    sensors: int | None = None,
    repeats: int | None = None,
) -> Comparison:
    """Run both sides."""
    size, repeats = batch_rows or bench.batch_rows, repeats or bench.repeats
    prepared = prepare(bench, workload, size, sensors or bench.sensors)
    sides = sides_of(bench, workload, prepared, size)
    bench.say(f"{workload.name}, {size:,} a micro-batch, {prepared.sensors:,} sensors: warming up")
    found = {name: side().answer for name, side in sides.items()}
    unlike = {name: difference(found[OURS], answer) for name, answer in found.items()}
    ran: dict[str, list[Ran]] = {name: [] for name in sides}
    for turn in range(repeats):
        for name in list(sides) if turn % 2 == 0 else list(sides)[::-1]:
            ran[name].append(sides[name]())
            bench.say(f"{workload.name}, {name}: {ran[name][-1].seconds:.2f} s")
    return Comparison(
        workload.name,
        workload.title,
        size,
        prepared.batches.total,
        found[OURS].height,
        tuple(each.seconds for each in ran[OURS]),
        {name: tuple(each.seconds for each in runs) for name, runs in ran.items() if name != OURS},
        {name: what for name, what in unlike.items() if what is not None},
        refusal_of(bench, workload, prepared),
        prepared.sensors,
        {name: tuple(one for each in ran[name] for one in each.milliseconds) for name in ran},
    )


def sides_of(bench: Bench, workload: Workload, prepared: Prepared, batch_rows: int) -> dict[str, Side]:
    """Both sides, and stock Spark with other settings, by name. Each call runs the whole workload from the
    start to its end."""
    from nilometer.laboratory.benchmarks.spark.peers.settings import StockSettings, variants

    stocks = {STOCK: StockSettings(), **variants(workload.peer)}
    return {OURS: _ours(bench, workload, prepared, batch_rows)} | {
        name: _stock(bench, workload, prepared, settings) for name, settings in stocks.items()
    }


def _ours(bench: Bench, workload: Workload, prepared: Prepared, batch_rows: int) -> Side:
    def side() -> Ran:
        place = _fresh(bench.place / "ours")
        run = ours.run(bench.session, prepared.batches.place, workload.question, batch_rows, place)
        answer = before(ours.answers(place), prepared.sentinel)
        return Ran(run.seconds, _milliseconds(run.progress), answer)

    return side


def _stock(bench: Bench, workload: Workload, prepared: Prepared, settings: StockSettings) -> Side:
    from nilometer.laboratory.benchmarks.spark.peers.queries import QUERIES

    def side() -> Ran:
        place = _fresh(bench.place / "stock")
        run = stock.run(bench.session, QUERIES[workload.peer], prepared.folders, place, settings)
        answer = before(stock.answers(place), prepared.sentinel)
        return Ran(run.seconds, _milliseconds(run.progress), answer)

    return side


def _milliseconds(progress: Iterable[Mapping[str, Any]]) -> tuple[float, ...]:
    times = [float(each["durationMs"]["triggerExecution"]) for each in progress if each["numInputRows"]]
    return tuple(times[1:])


def refusal_of(bench: Bench, workload: Workload, prepared: Prepared) -> str | None:
    """Spark's error for the plain form of a question for which it has no operator."""
    if not workload.refused:
        return None
    from nilometer.laboratory.benchmarks.spark.peers.queries import PLAIN
    from nilometer.laboratory.benchmarks.spark.peers.refusals import refusal

    return refusal(bench.session, PLAIN[workload.peer], prepared.folders, _fresh(bench.place / "refused"))


def _fresh(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    return place
