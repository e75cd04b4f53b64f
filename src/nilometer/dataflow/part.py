"""Rows of an answer inside a frame that the answers of many queries share.

A filter bank gathers the rows of all its queries at once. Each query's answer is a part of that frame. The rows are
cut out only for somebody who looks at them; the commit log takes the whole frame.

>>> part = Part(pl.DataFrame({"x": [1, 2, 3, 4]}), 1, 2)
>>> part.height, part.cut()["x"].to_list()
(2, [2, 3])
"""

from __future__ import annotations

import polars as pl


class Part:
    """The rows from `start` on, `height` of them. A slotted class: thousands are made in a round."""

    __slots__ = ("frame", "height", "start", "width")

    def __init__(self, frame: pl.DataFrame, start: int, height: int, width: int | None = None) -> None:
        self.frame = frame
        self.start = start
        self.height = height
        self.width = frame.width if width is None else width

    def cut(self) -> pl.DataFrame:
        """The rows as a frame of their own. It shares the memory of the whole one."""
        return self.frame.slice(self.start, self.height)


Rows = pl.DataFrame | Part


def frame_of(rows: Rows) -> pl.DataFrame:
    """The rows as a frame."""
    return rows.cut() if isinstance(rows, Part) else rows
