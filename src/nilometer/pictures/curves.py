"""Measures against an expectation -> curves (SNEE Figs. 29 to 31): energy and lifetime against acquisition
interval or delivery time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nilometer.pictures.colours import FRAGMENTS


@dataclass(frozen=True)
class Curve:
    """A panel with one line per name, through (x, y) points. Points that are not feasible are left out. `marked`
    names the line whose point stands out. With `durations` x is in seconds, and its ticks have units."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    logarithmic: bool = True
    durations: bool = False
    marked: str | None = None


DURATIONS = {
    "1 ms": 1e-3, "10 ms": 1e-2, "0.1 s": 0.1, "1 s": 1, "10 s": 10, "1 min": 60, "10 min": 600, "1 h": 3600, "6 h": 21_600,
    "1 day": 86_400, "1 week": 604_800, "30 days": 2_592_000, "1 year": 31_536_000,
}  # fmt: skip
"""The ticks of an axis of durations, in seconds."""


def draw_curves(panels: Sequence[Curve], path: Path, columns: int = 2) -> None:
    """Draw the panels side by side."""
    from matplotlib.figure import Figure

    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.6 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    names = {tuple(panel.lines) for panel in panels}
    for place in range(rows * columns):
        panel_axes = axes[place // columns][place % columns]
        if place >= len(panels):
            panel_axes.set_axis_off()
            continue
        panel = panels[place]
        for colour, (name, points) in zip(FRAGMENTS * 3, panel.lines.items(), strict=False):
            marker, size = ("D", 7.0) if name == panel.marked else ("o", 3.0)
            panel_axes.plot(
                *zip(*points, strict=True), marker=marker, markersize=size, label=name, color=colour
            ) if points else None
        if panel.logarithmic:
            panel_axes.set_xscale("log", base=2)
            panel_axes.xaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
        if panel.durations:
            _in_durations(panel_axes, [x for points in panel.lines.values() for x, _ in points])
        panel_axes.set_ylim(bottom=0)
        panel_axes.set_title(panel.title, fontsize=9)
        panel_axes.set_xlabel(panel.x, fontsize=8)
        panel_axes.set_ylabel(panel.y, fontsize=8)
        if len(names) > 1:
            panel_axes.legend(fontsize=7)
    if len(names) == 1:  # beside the panels, where it hides no line
        figure.legend(
            *axes[0][0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=3
        )
    figure.savefig(path)


def _in_durations(axes: Any, seconds: Sequence[float]) -> None:
    """Ticks at the round durations between the least and the greatest."""
    if not seconds:
        return
    least, greatest = min(seconds) * 0.7, max(seconds) * 1.4
    ticks = {name: value for name, value in DURATIONS.items() if least <= value <= greatest}
    if len(ticks) > 1:
        axes.set_xticks(list(ticks.values()), list(ticks), fontsize=8)
        axes.minorticks_off()
