"""The measurements of `bench spark`, as a table for a person or a dictionary for `--json`.

Times are medians. "times" says how many times as fast as stock Spark we are: above 1 we are faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

STOCK = "Spark"
"""Stock Spark with RocksDB, which the targets refer to."""


@dataclass(frozen=True)
class Comparison:
    """One workload at one size of micro-batch: the seconds of every run of ours, and of each peer by its
    name.

    `different` says how a peer's answer differs from ours. `refused` is Spark's error for the plain form of
    the question. `milliseconds` are those of all micro-batches but the first of a run, of "ours" and of stock
    Spark.
    """

    workload: str
    title: str
    batch_rows: int
    rows_in: int
    rows_out: int
    ours: tuple[float, ...]
    peers: Mapping[str, tuple[float, ...]]
    different: Mapping[str, str] = field(default_factory=dict)
    refused: str | None = None
    sensors: int = 0
    milliseconds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def seconds(self, peer: str | None = None) -> float:
        """The median seconds: ours, unless a peer is named."""
        return median(self.ours if peer is None else self.peers[peer])

    def times(self, peer: str = STOCK) -> float | None:
        """How many times as fast as a peer we are."""
        return self.seconds(peer) / self.seconds() if peer in self.peers else None


@dataclass(frozen=True)
class Floor:
    """An almost empty micro-batch with this number of stages: the milliseconds of every one."""

    stages: int
    ours: tuple[float, ...]
    stock: tuple[float, ...]
    tasks: tuple[float, ...] = ()
    """The same in two tasks, and not where Spark plans it."""


@dataclass(frozen=True)
class ManyQueries:
    """So many standing queries in one pipeline: the seconds until all were installed and had answered for the readings that
    were there; the seconds and processor seconds for as many readings again; the memory and number of all processes."""

    queries: int
    installed: float
    seconds: float
    cpu: float
    megabytes: float
    processes: int
    rows_out: int


@dataclass(frozen=True)
class Latency:
    """The time from the append of the reading that completes an answer to the answer's commit, in
    milliseconds: p50 and p99."""

    workload: str
    rate: int
    ours: tuple[float, float]
    stock: tuple[float, float] | None


@dataclass(frozen=True)
class StateSize:
    """Megabytes of state after each micro-batch of a long run: the size of a checkpoint at that moment. `disk` is that of our
    files."""

    workload: str
    ours: tuple[float, ...]
    stock: tuple[float, ...]
    disk: tuple[float, ...] = ()
    hours: float = 0.0


@dataclass(frozen=True)
class Target:
    """A claim and the measured value, which must be at least the limit, or with `at_most` at most."""

    claim: str
    measured: float
    limit: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether this run supports it."""
        return self.measured <= self.limit if self.at_most else self.measured >= self.limit

    def __str__(self) -> str:
        bound = "at most" if self.at_most else "at least"
        return (
            f"{'met   ' if self.met else 'MISSED'} {self.claim}: {self.measured:.2f} ({bound} {self.limit:g})"
        )


@dataclass(frozen=True)
class Report:
    """All measurements."""

    setting: str
    comparisons: tuple[Comparison, ...] = ()
    batch_sizes: tuple[Comparison, ...] = ()
    fleet_sizes: tuple[Comparison, ...] = ()
    floors: tuple[Floor, ...] = ()
    latencies: tuple[Latency, ...] = ()
    states: tuple[StateSize, ...] = ()
    pipelines: tuple[ManyQueries, ...] = ()
    targets: tuple[Target, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": "spark",
            **asdict(self),
            "targets": [asdict(t) | {"met": t.met} for t in self.targets],
        }


def table(report: Report) -> str:
    """For a person to read."""
    lines = [f"spark: {report.setting}"]
    if report.comparisons:
        peers = list(dict.fromkeys(name for each in report.comparisons for name in each.peers))
        titles = "".join(f" {name + ' s':>{_width(name)}} {'times':>6}" for name in peers)
        lines += ["", f"{'question':24} {'ours s':>8}{titles} {'rows/s':>10} {'rows out':>10}  answers"]
        lines += [_comparison(each, peers) for each in report.comparisons]
        lines += [f"{'':24} {c.title}: stock Spark refuses the plain form ({c.refused}); its time is of Python with state"
                  for c in report.comparisons if c.refused]  # fmt: skip
        lines += _steady(report.comparisons)
    for title, curve in (("readings a micro-batch", report.batch_sizes), ("sensors", report.fleet_sizes)):
        if curve:
            lines += [
                "",
                f"{'question':24} {title:>22} {'ours rows/s':>12} {'Spark rows/s':>12} {'times':>6}  answers",
            ]
            lines += [_point(each, title == "sensors") for each in curve]
    if report.floors:
        lines += [
            "",
            f"{'an almost empty micro-batch, ms':40} {'ours p50':>9} {'in tasks':>9} {'Spark p50':>10}",
        ]
        lines += [
            f"{f'{each.stages} stateful stage' + 's' * (each.stages > 1):40} {median(each.ours):9.0f} "
            f"{_middle(each.tasks):>9} {_middle(each.stock):>10}"
            for each in report.floors
        ]
    if report.pipelines:
        lines += [
            "",
            f"{'standing queries':>16} {'installed s':>12} {'s':>7} {'CPU s':>7} {'MB':>7} {'processes':>10} {'rows out':>9}",
        ]
        lines += [
            f"{each.queries:16,} {each.installed:12.1f} {each.seconds:7.2f} {each.cpu:7.2f} {each.megabytes:7.0f} "
            f"{each.processes:10} {each.rows_out:9,}"
            for each in report.pipelines
        ]
    if report.latencies:
        lines += [
            "",
            f"{'latency, ms':24} {'readings/s':>10} {'ours p50':>9} {'p99':>7} {'Spark p50':>10} {'p99':>7}",
        ]
        for late in report.latencies:
            stock = f"{late.stock[0]:10.0f} {late.stock[1]:7.0f}" if late.stock else f"{'-':>10} {'-':>7}"
            lines.append(
                f"{late.workload:24} {late.rate:10,} {late.ours[0]:9.0f} {late.ours[1]:7.0f} {stock}"
            )
    for state in report.states:
        lines += ["", f"state of {state.workload} over {state.hours:.3g} simulated hours, MB, at each tenth of it",
                  f"  ours          {_tenths(state.ours)}", f"  ours, on disk {_tenths(state.disk)}",
                  f"  Spark         {_tenths(state.stock)}"]  # fmt: skip
    if report.targets:
        lines += ["", *map(str, report.targets)]
    return "\n".join(lines)


def _steady(comparisons: Iterable[Comparison]) -> list[str]:
    """The time of a micro-batch of a running query, without the first."""
    found = [
        f"{each.title:24} {median(ours):8.0f} {median(stock):9.0f} {median(stock) / median(ours):6.1f}"
        for each in comparisons
        if (ours := each.milliseconds.get("ours")) and (stock := each.milliseconds.get(STOCK))
    ]
    return (
        ["", f"{'a micro-batch, p50':24} {'ours ms':>8} {'Spark ms':>9} {'times':>6}", *found]
        if found
        else []
    )


def _width(peer: str) -> int:
    return max(9, len(peer) + 2)


def _comparison(each: Comparison, peers: list[str]) -> str:
    cells = ""
    for name in peers:
        times = each.times(name)
        seconds = "-" if times is None else f"{each.seconds(name):.2f}"
        cells += f" {seconds:>{_width(name)}} {'-' if times is None else f'{times:.1f}':>6}"
    rate = f"{each.rows_in / each.seconds():,.0f}"
    return f"{each.title:24} {each.seconds():8.2f}{cells} {rate:>10} {each.rows_out:>10,}  {_agreement(each)}"


def _agreement(each: Comparison) -> str:
    if not each.different:
        return "equal"
    return "DIFFERENT: " + "; ".join(f"{peer}: {what}" for peer, what in each.different.items())


def _point(each: Comparison, sensors: bool) -> str:
    place = each.sensors if sensors else each.batch_rows
    rates = [f"{each.rows_in / each.seconds(peer):12,.0f}" for peer in (None, STOCK)]
    return f"{each.title:24} {place:22,} {rates[0]} {rates[1]} {each.times() or 0.0:6.1f}  {_agreement(each)}"


def _middle(figures: tuple[float, ...]) -> str:
    return f"{median(figures):.0f}" if figures else "-"


def _tenths(figures: tuple[float, ...]) -> str:
    if not figures:
        return "-"
    return " ".join(f"{figures[min(len(figures) - 1, len(figures) * n // 10)]:7.2f}" for n in range(1, 11))
