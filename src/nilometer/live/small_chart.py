"""A small chart of rows as SVG, for notebooks: a line for each number column, each over its own range.

>>> chart_of([{"time": 1, "x": 2.0}, {"time": 2, "x": 5.0}], ["x"]).count("<polyline")
1
>>> chart_of([{"time": 1, "x": 2.0}], ["x"])
''
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT = 320, 48
MOST_LINES = 4
MOST_POINTS = 320
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")


def chart_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The chart; nothing if no column has two numbers. With many rows, every n-th is drawn."""
    step = max(1, math.ceil(len(rows) / MOST_POINTS))
    thinned = rows[::step]
    lines, names = [], []
    for colour, name in zip(COLOURS, columns[:MOST_LINES], strict=False):
        points = [(at, row.get(name)) for at, row in enumerate(thinned)]
        numbers = [(at, float(v)) for at, v in points if isinstance(v, int | float) and math.isfinite(v)]
        if len(numbers) < 2:
            continue
        low, high = min(v for _, v in numbers), max(v for _, v in numbers)
        across, up = (WIDTH - 4) / max(1, len(thinned) - 1), (HEIGHT - 4) / ((high - low) or 1.0)
        drawn = " ".join(f"{2 + at * across:.1f},{HEIGHT - 2 - (v - low) * up:.1f}" for at, v in numbers)
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{drawn}"/>')
        names.append(f'<span style="color: {colour}">{escape(name)}</span> {low:g} to {high:g}')
    if not lines:
        return ""
    box = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
    return f"<div><svg {box}>{''.join(lines)}</svg><br><small>{', '.join(names)}</small></div>"


def numbers_in(row: Mapping[str, Any]) -> list[str]:
    """The columns that a small chart draws: numbers that are not the sensor."""
    return [
        name
        for name, value in row.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name.lower() != "id"
    ]
