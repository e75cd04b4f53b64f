"""A tracker's state as frames, and back: the candidates, and the phenomena with their motion.

Components, regions and neighbours follow from the candidates and are made anew.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from nilometer.algebra.motion import Motion
from nilometer.algebra.table_function import FunctionCall
from nilometer.operators import frames
from nilometer.phenomena.neighbours import Source
from nilometer.phenomena.tracker import Phenomenon, Tracker
from nilometer.types import Schema

_MOTION = ("x", "y", "velocity_x", "velocity_y", "place_variance", "covariance", "velocity_variance")


class Stored:
    """The frames of one definition's trackers."""

    def __init__(self, call: FunctionCall, input: Schema) -> None:
        self._made: tuple[int, dict[str, bytes]] | None = None
        source = frames.dtype(call.id_type.plain)
        klass = frames.dtype(input[f"{call.alias}.value"].type.plain)
        real, whole = pl.Float64(), pl.Int64()
        self._candidates: frames.Dtypes = {"class": klass, "id": source, "n": whole, "sum": real, "low": real}
        self._candidates |= {"high": real, "x": real, "y": real, "phenomenon": pl.String()}
        self._phenomena: frames.Dtypes = {"id": pl.String(), "born": whole, "tick": whole}
        self._phenomena |= {"parents": pl.List(pl.String()), "children": pl.List(pl.String())}
        self._phenomena |= {
            "origin_x": real,
            "origin_y": real,
            **dict.fromkeys(_MOTION, real),
            "fresh": pl.Boolean(),
            "areas": pl.List(pl.Float64()),
        }

    def snapshot(self, tracker: Tracker) -> dict[str, bytes]:
        """Returns two panes, which are made once for each turn of the tracker."""
        if self._made is None or self._made[0] != tracker.turn:
            self._made = tracker.turn, self._panes(tracker)
        return dict(self._made[1])

    def _panes(self, tracker: Tracker) -> dict[str, bytes]:
        candidates = []
        for value, here in tracker.classes.items():
            for source, standing in here.standings.items():
                found = here.component_of[source].phenomenon
                place = tracker.places.get(source) or (None, None)
                candidates.append((value, source, *standing, *place, None if found is None else found.id))
        known = []
        for each in tracker.phenomena:
            motion = each.motion
            moves: tuple[float | None, ...] = (None,) * 8
            if motion is not None:
                variances = (motion.place_variance, motion.covariance, motion.velocity_variance)
                moves = (motion.x, motion.y, *motion.velocity, *variances, motion.fresh)
            head = (each.id, each.born, each.tick, each.parents, each.children)
            known.append((*head, *(each.origin or (None, None)), *moves, each.areas))
        rows = pl.DataFrame(candidates, self._candidates, orient="row").sort("class", "id")
        return {
            "candidates": frames.to_bytes(rows),
            "phenomena": frames.to_bytes(pl.DataFrame(known, self._phenomena, orient="row")),
        }

    def restore(self, panes: dict[str, bytes], tracker: Tracker) -> None:
        """Take back what `snapshot` gave."""
        phenomena: dict[str, Phenomenon] = {}
        belongs: dict[tuple[Any, Source], str] = {}
        for value, source, n, total, low, high, x, y, id_ in frames.from_bytes(
            panes["candidates"]
        ).iter_rows():
            place = None if x is None else (x, y)
            tracker.take(value, source, (n, total, low, high), place)
            if id_ is not None:
                belongs[value, source] = id_
        for row in frames.from_bytes(panes["phenomena"]).iter_rows(named=True):
            motion = None
            if row["x"] is not None:
                variances = row["place_variance"], row["covariance"], row["velocity_variance"]
                velocity = row["velocity_x"], row["velocity_y"]
                motion = Motion(row["x"], row["y"], velocity, *variances, row["fresh"])
            origin = None if row["origin_x"] is None else (row["origin_x"], row["origin_y"])
            phenomena[row["id"]] = Phenomenon(
                row["id"], None, [], row["born"], row["parents"], row["children"], row["tick"],
                origin=origin, motion=motion, areas=row["areas"],
            )  # fmt: skip
        tracker.rebuild(belongs, phenomena)
