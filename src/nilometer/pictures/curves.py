"""Measures against an expectation -> curves (SNEE Figs. 29 to 31): energy and lifetime against acquisition
interval or delivery time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nilometer.pictures.colours import FRAGMENTS


@dataclass(frozen=True)
class Curve:
    """A panel with one line per name, through (x, y) points. Points that are not feasible are left out."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    logarithmic: bool = True


def draw_curves(panels: Sequence[Curve], path: Path, columns: int = 2) -> None:
    """Draw the panels side by side."""
    from matplotlib.figure import Figure

    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.6 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for place in range(rows * columns):
        panel_axes = axes[place // columns][place % columns]
        if place >= len(panels):
            panel_axes.set_axis_off()
            continue
        panel = panels[place]
        for colour, (name, points) in zip(FRAGMENTS * 3, panel.lines.items(), strict=False):
            panel_axes.plot(
                *zip(*points, strict=True), marker="o", markersize=3, label=name, color=colour
            ) if points else None
        if panel.logarithmic:
            panel_axes.set_xscale("log", base=2)
            panel_axes.xaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
        panel_axes.set_ylim(bottom=0)
        panel_axes.set_title(panel.title, fontsize=9)
        panel_axes.set_xlabel(panel.x, fontsize=8)
        panel_axes.set_ylabel(panel.y, fontsize=8)
        panel_axes.legend(fontsize=7)
    figure.savefig(path)
