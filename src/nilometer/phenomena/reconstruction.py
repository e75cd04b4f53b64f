"""The rows of SUMMARY -> what each sensor read: a member its phenomenon's mean, any other its cell's.

At a time t it is the mean of the latest summary at or before t. A sensor in phenomena of several classes reads the mean
of their means. A cell without a reading of its own keeps its last mean.

>>> rows = [
...     {"time": 60, "id": None, "cell": 0, "gained": [1, 2], "lost": [], "mean": 5.0},
...     {"time": 60, "id": "smoke/1", "cell": None, "gained": [2], "lost": [], "mean": 40.0},
... ]
>>> reconstructed(pl.DataFrame(rows)).rows()
[(60, 1, 5.0, False), (60, 2, 40.0, True)]
"""

from __future__ import annotations

from typing import Any

import polars as pl


def reconstructed(summary: pl.DataFrame) -> pl.DataFrame:
    """`time`, `id`, `value` and `member`: every sensor at every summary. `time` is in microseconds or a datetime."""
    columns = ["time", "id", "cell", "gained", "lost", "mean"]
    ordered = summary.select(columns).sort("time", maintain_order=True)
    groups: dict[Any, set[Any]] = {}
    means: dict[Any, float | None] = {}
    cell_of: dict[Any, Any] = {}
    parts: list[tuple[Any, list[Any], list[float | None], list[bool]]] = []
    for (moment,), rows in ordered.group_by("time", maintain_order=True):
        for _, id_, cell, gained, lost, mean in rows.sort(
            "cell", nulls_last=True, maintain_order=True
        ).iter_rows():
            name = (id_, cell)
            members = groups.setdefault(name, set())
            members.difference_update(lost)
            members.update(gained)
            if mean is not None or id_ is not None:
                means[name] = mean
            if id_ is not None and not members:
                del groups[name], means[name]
        cell_of = {sensor: name for name, members in groups.items() if name[0] is None for sensor in members}
        inside: dict[Any, list[float]] = {}
        for name, members in groups.items():
            mean = means.get(name)
            if name[0] is not None and mean is not None:
                for sensor in members:
                    inside.setdefault(sensor, []).append(mean)
        sensors = sorted(cell_of)
        values = [
            sum(inside[each]) / len(inside[each]) if each in inside else means.get(cell_of[each])
            for each in sensors
        ]
        parts.append((moment, sensors, values, [each in inside for each in sensors]))
    element = summary.schema["gained"]
    dtypes: dict[str, Any] = {
        "time": summary.schema["time"],
        "id": element.inner if isinstance(element, pl.List) else None,
        "value": pl.Float64,
        "member": pl.Boolean,
    }
    if not parts:
        return pl.DataFrame(schema=dtypes)
    return pl.DataFrame(
        {
            "time": [moment for moment, sensors, _, _ in parts for _ in sensors],
            "id": [sensor for _, sensors, _, _ in parts for sensor in sensors],
            "value": [value for _, _, values, _ in parts for value in values],
            "member": [member for _, _, _, members in parts for member in members],
        },
        schema=dtypes,
    )
