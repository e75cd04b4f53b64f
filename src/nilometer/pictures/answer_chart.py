"""An answer -> a chart: lines over time, one for each sensor or group; bars where the answer has no time.

The law: the chart shows every row that has a place and a number. NULL leaves a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.pictures.colours import FRAGMENTS
from nilometer.types import Column, Kind, Schema

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

NUMBERS = (Kind.INT, Kind.FLOAT)
MOST_LINES = 40
"""More lines than this cannot be told apart."""
MOST_BARS = 60


@dataclass(frozen=True)
class Chart:
    """A drawn answer. A notebook shows it; `save` writes it as SVG, PNG or PDF, by the name of the file."""

    figure: Figure

    def save(self, path: str | Path) -> None:
        """Write the picture to a file."""
        self.figure.savefig(path)

    def _repr_svg_(self) -> str:
        picture = BytesIO()
        self.figure.savefig(picture, format="svg")
        return picture.getvalue().decode()


@dataclass(frozen=True)
class Axes:
    """The columns of a chart: `across` (None: the rows in their order), `up`, and `by`, one line for each
    value."""

    across: str | None
    up: tuple[str, ...]
    by: str | None


def axes_of(schema: Schema, x: str | None, y: str | Sequence[str] | None, by: str | None) -> Axes:
    """The columns that a person would draw, where none are named.

    `x` is the tick, else `time`, else the first TIME column. `y` are the numbers that are neither the sensor
    nor `x`. `by` is `id`, else the first column of text.
    """
    times = [column.name for column in schema if column.type.kind is Kind.TIME]
    named = [name for name in ("tick", "time") if name in times]
    across = _known(schema, x) if x is not None else next(iter((*named, *times)), None)
    texts = [column.name for column in schema if column.type.kind is Kind.STRING and column.name != across]
    sensor = next((column.name for column in schema if column.name.lower() == "id"), None)
    group = _known(schema, by) if by is not None else sensor or next(iter(texts), None)
    if y is not None:
        up = tuple(_known(schema, name) for name in ([y] if isinstance(y, str) else y))
    else:
        up = tuple(c.name for c in schema if c.type.kind in NUMBERS and c.name not in (across, group))
    if not up:
        raise ConfigurationError(
            "the answer has no number to draw", hint=f"its columns are {', '.join(schema.names)}"
        )
    for name in up:
        if schema[name].type.kind not in NUMBERS:
            raise ConfigurationError(
                f"'{name}' is {schema[name].type}, not a number", hint="draw it as x or by"
            )
    return Axes(across, up, None if group == across else group)


def answer_chart(frame: pl.DataFrame, schema: Schema, axes: Axes, title: str = "") -> Chart:
    """Draw an answer: one panel for each column of numbers."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 0.6 + 2.6 * len(axes.up)), layout="constrained")
    panels = figure.subplots(len(axes.up), 1, squeeze=False, sharex=True)[:, 0]
    timed = axes.across is not None and schema[axes.across].type.kind in (Kind.TIME, *NUMBERS)
    for panel, name in zip(panels, axes.up, strict=True):
        if timed:
            _lines(panel, frame, axes, name)
        else:
            _bars(panel, frame, axes, name)
        panel.set_ylabel(_label(schema[name]), fontsize=8)
        panel.tick_params(labelsize=7)
        if timed and axes.across is not None and schema[axes.across].type.kind is Kind.TIME:
            locator = AutoDateLocator()  # type: ignore[no-untyped-call]
            panel.xaxis.set_major_locator(locator)
            panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    if axes.across is not None:
        panels[-1].set_xlabel(_label(schema[axes.across]), fontsize=8)
    if title:
        figure.suptitle(title, fontsize=9)
    return Chart(figure)


def _lines(panel: Any, frame: pl.DataFrame, axes: Axes, name: str) -> None:
    """One line for each value of `by`, in the order of x."""
    assert axes.across is not None
    groups = {(): frame} if axes.by is None else frame.partition_by(axes.by, as_dict=True)
    if len(groups) > MOST_LINES:
        raise ConfigurationError(
            f"{len(groups)} lines cannot be told apart",
            hint=f"choose fewer with WHERE, or draw by another column: by='...'; at most {MOST_LINES} are drawn",
        )
    for place, (key, rows) in enumerate(sorted(groups.items(), key=lambda item: str(item[0]))):
        rows = rows.sort(axes.across)
        label = ", ".join(map(str, key))
        panel.plot(
            rows[axes.across].to_list(),
            [float("nan") if value is None else value for value in rows[name].to_list()],
            color=FRAGMENTS[place % len(FRAGMENTS)],
            linestyle=("-", "--", ":", "-.")[place // len(FRAGMENTS) % 4],
            marker="o" if rows.height < 30 else None,
            markersize=3,
            linewidth=1,
            label=label,
        )
    if axes.by is not None:
        panel.legend(
            title=axes.by, fontsize=7, title_fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5)
        )


def _bars(panel: Any, frame: pl.DataFrame, axes: Axes, name: str) -> None:
    """One bar for each row, named by `x` or `by`."""
    if frame.height > MOST_BARS:
        raise ConfigurationError(
            f"{frame.height} bars cannot be told apart",
            hint=f"choose fewer with WHERE or LIMIT; at most {MOST_BARS} are drawn",
        )
    said = axes.across or axes.by
    names = (
        [str(number + 1) for number in range(frame.height)]
        if said is None
        else frame[said].cast(str).to_list()
    )
    values = [0 if value is None else value for value in frame[name].to_list()]
    panel.bar([str(value) for value in names], values, color=FRAGMENTS[1])


def _label(column: Column) -> str:
    return f"{column.name} ({column.unit})" if column.unit else column.name


def _known(schema: Schema, name: str) -> str:
    if name not in schema.names:
        raise ConfigurationError(f"the answer has no column '{name}'", hint=near_misses(name, schema.names))
    return name
