"""Where every source is that has been heard, member or not: rows of PH_SOURCES without a class -> places.

ARRIVALS asks which of them a region reaches; the answer for all sources is a few operations on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from nilometer.algebra.geojson import rings
from nilometer.algebra.places import Place
from nilometer.algebra.prediction import Course
from nilometer.kernels.arrays import Floats
from nilometer.kernels.point_in_ring import within_ring
from nilometer.operators import frames
from nilometer.operators.limits import check_kept
from nilometer.phenomena.neighbours import Source
from nilometer.phenomena.readings import place_of


class Whereabouts:
    """The places of sources; one without a place is not kept."""

    def __init__(self, id_dtype: pl.DataType) -> None:
        self._columns: frames.Dtypes = {"id": id_dtype, "x": pl.Float64(), "y": pl.Float64()}
        self._places: dict[Source, Place] = {}
        self._arrays: tuple[list[Source], dict[Source, int], Floats, Floats] | None = None
        self._pane: bytes | None = None

    def take(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Note the places; return the rows of candidates."""
        others = []
        for row in rows:
            if row[2] is not None:
                others.append(row)
                continue
            place = place_of(row[7])
            if place is None:
                self._places.pop(row[1], None)
            else:
                self._places[row[1]] = place
            self._arrays = self._pane = None
        check_kept(len(self._places))
        return others

    def reached(self, course: Course, members: Sequence[Source], most: int) -> list[tuple[int, Source]]:
        """As `Course.reaches` says, of all sources at once."""
        sources, number, x, y = self._settled()
        waiting = np.ones(len(sources), dtype=np.bool_)
        waiting[[number[each] for each in members if each in number]] = False
        for ring in rings(course.region):
            waiting &= ~within_ring(x, y, ring)
        found: list[tuple[int, Source]] = []
        for steps in range(1, most + 1):
            there = np.zeros(len(sources), dtype=np.bool_)
            for ring in rings(course.after(steps)[1]):
                there |= within_ring(x, y, ring)
            there &= waiting
            waiting &= ~there
            found += [(steps, sources[each]) for each in np.flatnonzero(there).tolist()]
        return found

    def _settled(self) -> tuple[list[Source], dict[Source, int], Floats, Floats]:
        """The sources in order, their numbers and places; made anew when a place has changed."""
        if self._arrays is None:
            sources = sorted(self._places)
            places = np.array([self._places[each] for each in sources], dtype=np.float64).reshape(-1, 2)
            number = {source: place for place, source in enumerate(sources)}
            self._arrays = sources, number, places[:, 0].copy(), places[:, 1].copy()
        return self._arrays

    def snapshot(self) -> dict[str, bytes]:
        """Returns the places as a pane."""
        if self._pane is None:
            rows = [(source, *place) for source, place in sorted(self._places.items())]
            self._pane = frames.to_bytes(pl.DataFrame(rows, self._columns, orient="row"))
        return {"whereabouts": self._pane}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        held = frames.from_bytes(panes["whereabouts"]).iter_rows()
        self._places = {source: (x, y) for source, x, y in held}
        self._arrays = None
