"""Draws a report: the curves over micro-batch sizes and fleets, latency, and the state over a long run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nilometer.laboratory.benchmarks.spark.report import STOCK, Comparison, Report

SIZE = (6.4, 4.0)
OURS = "Nilometer"
PEER = "stock Spark"


def plot(report: Report, folder: Path) -> list[Path]:
    """The pictures for which there are measurements, as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for name in dict.fromkeys(each.workload for each in report.batch_sizes):
        points = [each for each in report.batch_sizes if each.workload == name]
        axis = "readings a micro-batch"
        found.append(
            _curve(points, [each.batch_rows for each in points], axis, folder / f"spark_batches_{name}.svg")
        )
    if report.fleet_sizes:
        sensors = [each.sensors for each in report.fleet_sizes]
        found.append(_curve(report.fleet_sizes, sensors, "sensors", folder / "spark_fleet.svg"))
    if report.latencies:
        found.append(_latency(report, folder / "spark_latency.svg"))
    if report.states:
        found.append(_state(report, folder / "spark_state.svg"))
    return found


def _axes(title: str, across: str, up: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot(title=title, xlabel=across, ylabel=up)
    axes.grid(alpha=0.3)
    return figure, axes


def _save(figure: Any, axes: Any, path: Path) -> Path:
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    return path


def _curve(points: Iterable[Comparison], places: list[int], across: str, path: Path) -> Path:
    points = list(points)
    figure, axes = _axes(points[0].title, across, "readings a second")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for label, peer in ((OURS, None), (PEER, STOCK)):
        axes.plot(places, [each.rows_in / each.seconds(peer) for each in points], marker="o", label=label)
    return _save(figure, axes, path)


def _latency(report: Report, path: Path) -> Path:
    """One colour per question. Stock Spark's lines are dashed; p99 is thin."""
    figure, axes = _axes("latency", "readings a second", "milliseconds")
    figure.set_size_inches(SIZE[0] + 2.6, SIZE[1])
    axes.set_xscale("log")
    axes.set_yscale("log")
    for number, name in enumerate(dict.fromkeys(each.workload for each in report.latencies)):
        points = [each for each in report.latencies if each.workload == name]
        rates = [each.rate for each in points]
        for label, style, side in (
            (OURS, "-", [each.ours for each in points]),
            (PEER, "--", [each.stock for each in points]),
        ):
            for place, (percentile, width) in enumerate((("p50", 2.0), ("p99", 0.8))):
                heights = [pair[place] for pair in side if pair]
                if len(heights) == len(rates):
                    said = f"{name}, {label} {percentile}"
                    axes.plot(
                        rates, heights, style, color=f"C{number}", linewidth=width, marker="o", label=said
                    )
    figure.legend(loc="outside right upper")
    figure.savefig(path, metadata={"Date": None})
    return path


def _state(report: Report, path: Path) -> Path:
    figure, axes = _axes("state over a long run", "micro-batch", "megabytes")
    for state in report.states:
        axes.plot(state.ours, label=f"{state.workload}, {OURS}")
        axes.plot(state.stock, "--", label=f"{state.workload}, {PEER}")
    axes.set_ylim(bottom=0)
    return _save(figure, axes, path)
