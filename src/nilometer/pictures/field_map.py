"""The field -> a map: all sensors, the regions of phenomena with their members, and where they are going.

The law: every sensor with a place is drawn, and every phenomenon with a region. An animation has a frame for each
evaluation.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.algebra.geojson import rings
from nilometer.algebra.places import WGS84, Place
from nilometer.algebra.regions import from_plane
from nilometer.errors import ConfigurationError
from nilometer.pictures.colours import FRAGMENTS, INK, RELAY
from nilometer.types import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_FRAMES = 2_000
AHEAD = 12
"""An arrow ends where a phenomenon is after so many evaluations, if it goes on."""


def draw_field(
    name: str,
    tick: int,
    slide: int,
    rows: Sequence[Mapping[str, Any]],
    sensors: Mapping[int | str, Place],
    coordinates: str | None,
    path: Path,
) -> None:
    """Draw the phenomena of an evaluation; the format follows from the file's name."""
    figure, axes = _canvas(sensors)
    _frame(axes, name, tick, slide, rows, sensors, coordinates, {})
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
    figure, axes = _canvas(sensors)
    trails: dict[str, list[Place]] = {}

    def show(tick: int) -> list[Any]:
        _frame(axes, name, tick, slide, by_tick.get(tick, []), sensors, coordinates, trails)
        return []

    writer = (FFMpegWriter if path.suffix.lower() == ".mp4" else PillowWriter)(fps=6)
    FuncAnimation(figure, show, frames=ticks, init_func=list).save(path, writer=writer, dpi=80)
    return len(ticks)


def _canvas(sensors: Mapping[int | str, Place]) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    if not sensors:
        raise ConfigurationError(
            "the sensors have no places", hint="declare them: CREATE SENSOR 5 OF s AT (8.5, 47.4)"
        )
    figure = Figure(figsize=(8, 7), layout="constrained")
    return figure, figure.subplots()


def _frame(
    axes: Axes,
    name: str,
    tick: int,
    slide: int,
    rows: Sequence[Mapping[str, Any]],
    sensors: Mapping[int | str, Place],
    coordinates: str | None,
    trails: dict[str, list[Place]],
) -> None:
    axes.clear()
    xs, ys = zip(*sensors.values(), strict=True)
    axes.scatter(xs, ys, s=14, color=RELAY, edgecolors="#9aa5b1", linewidths=0.5, zorder=2)
    for row in rows:
        colour = FRAGMENTS[hash_of(row["id"]) % len(FRAGMENTS)]
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
        velocity = row["velocity_x"], row["velocity_y"]
        if None not in velocity and math.hypot(*velocity) > 0:
            seconds = AHEAD * slide / 1e6
            moved = velocity[0] * seconds, velocity[1] * seconds
            end = from_plane(moved, middle, coordinates)
            arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2}
            axes.annotate("", xy=end, xytext=middle, arrowprops=arrow, zorder=5)
    number = f"{len(rows)} phenomen{'on' if len(rows) == 1 else 'a'}"
    axes.set_title(f"{name}, {format_time(tick)}: {number}", loc="left")
    margin_x, margin_y = (max((max(v) - min(v)) * 0.05, 1e-9) for v in (xs, ys))
    axes.set_xlim(min(xs) - margin_x, max(xs) + margin_x)
    axes.set_ylim(min(ys) - margin_y, max(ys) + margin_y)
    if coordinates == WGS84:
        axes.set_xlabel("longitude")
        axes.set_ylabel("latitude")
        axes.set_aspect(1 / max(0.1, math.cos(math.radians((min(ys) + max(ys)) / 2))))
    else:
        axes.set_xlabel("x" if coordinates is None else f"x ({coordinates})")
        axes.set_ylabel("y" if coordinates is None else f"y ({coordinates})")


def hash_of(text: str) -> int:
    """A number for a phenomenon's colour, the same in every run."""
    return sum(position * ord(letter) for position, letter in enumerate(text, 1))


def _pair(point: Any) -> Place:
    x, y = point.values() if isinstance(point, Mapping) else point
    return x, y
