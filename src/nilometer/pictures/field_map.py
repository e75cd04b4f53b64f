"""The field -> a map: all sensors, the regions of phenomena with their members, where they are going, and whom they reach.

The law: every phenomenon with a region is drawn. What is dashed has not come yet. A map shows the phenomena and what is
around them, or the whole field where there is none. An animation has a frame for each evaluation, and all of them show
what is around the phenomena of any.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.algebra.geojson import rings
from nilometer.algebra.places import WGS84, Place
from nilometer.errors import ConfigurationError
from nilometer.pictures.colours import FRAGMENTS, INK, RELAY
from nilometer.types import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_FRAMES = 2_000
LINE = 11
"""The height of a line of text, in points."""
ROOM = 1.8
"""How much larger a map is than its phenomena."""
NAMED = 6
"""The most sensors whose names are written."""


@dataclass(frozen=True)
class Outlook:
    """Where a phenomenon will be after some time: its middle and its region, and the sensors that it reaches until then,
    each with what is written beside it. `when` says how long that is."""

    when: str
    location: Place
    region: str | None
    reached: Sequence[tuple[str, Place]]


Box = tuple[float, float, float, float]
"""The left, right, lower and upper end of what is shown."""

Ahead = Callable[[Mapping[str, Any]], Outlook | None]
"""Tells the outlook of a phenomenon; None: it does not move."""


def draw_field(
    name: str,
    tick: int,
    rows: Sequence[Mapping[str, Any]],
    sensors: Mapping[int | str, Place],
    coordinates: str | None,
    path: Path,
    ahead: Ahead = lambda _: None,
) -> None:
    """Draw the phenomena of an evaluation; the format follows from the file's name."""
    _require(sensors)
    outlooks = [outlook for row in rows if (outlook := ahead(row)) is not None]
    shown = _shown(rows, outlooks, sensors)
    figure, axes = _canvas(shown, coordinates)
    _frame(axes, name, tick, rows, sensors, coordinates, {}, {}, ahead, shown)
    figure.savefig(path, dpi=120)


def check_animation(path: Path) -> None:
    """Refuse a file that cannot be written: neither a GIF nor an MP4, or an MP4 without ffmpeg."""
    form = path.suffix.lower()
    if form not in (".gif", ".mp4"):
        raise ConfigurationError(
            f"cannot animate into '{path.name}'", hint="write a GIF or an MP4: --animate field.gif"
        )
    if form == ".mp4" and shutil.which("ffmpeg") is None:
        raise ConfigurationError(
            "an MP4 is written by ffmpeg, which is not here",
            hint="install it (apt install ffmpeg), or write a GIF: --animate field.gif",
        )


def animate_field(
    name: str,
    slide: int,
    history: Sequence[Mapping[str, Any]],
    sensors: Mapping[int | str, Place],
    coordinates: str | None,
    path: Path,
    ahead: Ahead = lambda _: None,
) -> int:
    """Write an animation of all evaluations from the first phenomenon to the last one; return the number of frames."""
    check_animation(path)
    if not history:
        raise ConfigurationError("there is no phenomenon to animate", hint="choose a later --at")
    from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter

    first, last = history[0]["time"], history[-1]["time"]
    ticks = range(first, last + slide, slide)
    if len(ticks) > MOST_FRAMES:
        raise ConfigurationError(
            f"the animation would have {len(ticks):,} frames", detail=f"the limit is {MOST_FRAMES:,}"
        )
    by_tick: dict[int, list[Mapping[str, Any]]] = {}
    for row in history:
        by_tick.setdefault(row["time"], []).append(row)
    _require(sensors)
    trails: dict[str, list[Place]] = {}
    colours: dict[str, int] = {}
    shown = _shown(history, [], sensors, 1.3)
    figure, axes = _canvas(shown, coordinates)

    def show(tick: int) -> list[Any]:
        _frame(axes, name, tick, by_tick.get(tick, []), sensors, coordinates, trails, colours, ahead, shown)
        return []

    writer = (FFMpegWriter if path.suffix.lower() == ".mp4" else PillowWriter)(fps=6)
    FuncAnimation(figure, show, frames=ticks, init_func=list).save(path, writer=writer, dpi=80)
    return len(ticks)


def _require(sensors: Mapping[int | str, Place]) -> None:
    if not sensors:
        raise ConfigurationError(
            "the sensors have no places", hint="declare them: CREATE SENSOR 5 OF s AT (8.5, 47.4)"
        )


def _canvas(shown: Box, coordinates: str | None) -> tuple[Figure, Axes]:
    """A figure of the form of what it shows."""
    from matplotlib.figure import Figure

    left, right, low, high = shown
    form = (high - low) / max(right - left, 1e-9) * _aspect(shown, coordinates)
    figure = Figure(figsize=(8, min(8.0, max(3.5, 7 * form + 0.8))), layout="constrained")
    return figure, figure.subplots()


def _aspect(shown: Box, coordinates: str | None) -> float:
    """How much longer a unit of y is drawn than one of x."""
    if coordinates != WGS84:
        return 1.0
    return 1 / max(0.1, math.cos(math.radians((shown[2] + shown[3]) / 2)))


def _frame(
    axes: Axes,
    name: str,
    tick: int,
    rows: Sequence[Mapping[str, Any]],
    sensors: Mapping[int | str, Place],
    coordinates: str | None,
    trails: dict[str, list[Place]],
    colours: dict[str, int],
    ahead: Ahead,
    shown: Box,
) -> None:
    axes.clear()
    xs, ys = zip(*sensors.values(), strict=True)
    axes.scatter(xs, ys, s=14, color=RELAY, edgecolors="#9aa5b1", linewidths=0.5, zorder=2)
    when = ""
    outlooks = {row["id"]: outlook for row in rows if (outlook := ahead(row)) is not None}
    left, right, low, high = shown
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    for row in rows:
        colour = FRAGMENTS[colours.setdefault(row["id"], len(colours) + 1) % len(FRAGMENTS)]
        for corners in rings(row["region"]):
            axes.fill(*zip(*corners, strict=True), color=colour, alpha=0.25, zorder=1)
            axes.plot(*zip(*corners, corners[0], strict=True), color=colour, linewidth=1.2, zorder=3)
        places = [sensors[member] for member in row["members"] if member in sensors]
        if places:
            own = list(zip(*places, strict=True))
            axes.scatter(own[0], own[1], s=26, color=colour, edgecolors=INK, linewidths=0.5, zorder=4)
        if row["location"] is None:
            continue
        middle = _pair(row["location"])
        trail = trails.setdefault(row["id"], [])
        trail.append(middle)
        if len(trail) > 1:
            axes.plot(*zip(*trail, strict=True), color=colour, linewidth=1.5, zorder=3)
        axes.annotate(
            f"{row['size']} sensors",
            middle,
            xytext=(0, 9),
            textcoords="offset points",
            color=INK,
            fontsize=8,
            ha="center",
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
            zorder=6,
        )
        if (outlook := outlooks.get(row["id"])) is not None:
            _draw_outlook(axes, middle, outlook, colour)
            when = f"; dashed: in {outlook.when}"
    number = f"{len(rows)} phenomen{'on' if len(rows) == 1 else 'a'}"
    axes.set_title(f"{name}, {format_time(tick)}: {number}{when}", loc="left")
    _write_reached(axes, list(outlooks.values()))
    if coordinates == WGS84:
        axes.set_xlabel("longitude")
        axes.set_ylabel("latitude")
    else:
        axes.set_xlabel("x" if coordinates is None else f"x ({coordinates})")
        axes.set_ylabel("y" if coordinates is None else f"y ({coordinates})")
    axes.set_aspect(_aspect(shown, coordinates))


def _draw_outlook(axes: Axes, middle: Place, outlook: Outlook, colour: str) -> None:
    """An arrow to where it will be, its region there, and the sensors that it reaches."""
    for corners in rings(outlook.region):
        axes.plot(
            *zip(*corners, corners[0], strict=True), color=colour, linewidth=1.2, linestyle="--", zorder=3
        )
    arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2}
    axes.annotate("", xy=outlook.location, xytext=middle, arrowprops=arrow, zorder=5)
    for _, place in outlook.reached:
        axes.scatter(*place, s=42, facecolors="none", edgecolors=INK, linewidths=1.1, zorder=5)


def _write_reached(axes: Axes, outlooks: Sequence[Outlook]) -> None:
    """The names beside the sensors, from the top down, none over another."""
    labels = [label for outlook in outlooks for label in outlook.reached[:NAMED]]
    heights = {place: float(axes.transData.transform(place)[1]) * 72 / 100 for _, place in labels}
    free = math.inf
    for text, place in sorted(labels, key=lambda label: -heights[label[1]]):
        at = min(heights[place] - 3, free)
        free = at - LINE
        axes.annotate(
            text,
            place,
            xytext=(8, at - heights[place]),
            textcoords="offset points",
            color=INK,
            fontsize=8,
            bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
            zorder=7,
        )


def _shown(
    rows: Sequence[Mapping[str, Any]],
    outlooks: Sequence[Outlook],
    sensors: Mapping[int | str, Place],
    room: float = ROOM,
) -> Box:
    """What the axes show: the field, or the phenomena and their surroundings, at least a third of the field. `room` is how
    much larger that is than the phenomena."""
    regions = [row["region"] for row in rows] + [outlook.region for outlook in outlooks]
    corners = [corner for region in regions for ring in rings(region) for corner in ring]
    corners += [place for outlook in outlooks for _, place in outlook.reached]
    shown: list[float] = []
    for side, all_ in enumerate(zip(*sensors.values(), strict=True)):
        low, high = min(all_), max(all_)
        span = max(high - low, 1e-9)
        if corners:
            own = [corner[side] for corner in corners]
            middle, size = (min(own) + max(own)) / 2, max(room * (max(own) - min(own)), span / 3)
            low, high = (
                max(min(low, *own), middle - size / 2),
                min(max(high, *own), middle + size / 2),
            )
        margin = 0.05 * span
        shown += [low - margin, high + margin]
    return shown[0], shown[1], shown[2], shown[3]


def _pair(point: Any) -> Place:
    x, y = point.values() if isinstance(point, Mapping) else point
    return x, y
