"""The answer to a query on given logs: its rows, its watermark, and the books."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Occurrence:
    """The books of one occurrence of a stream in the plan: tuples read, and how many of them were late."""

    stream: str
    alias: str
    read: int
    late: int


@dataclass(frozen=True)
class Answer:
    """The rows, in the order of their ticks, with values in the order of `columns`. A LIST is a list, a
    STRUCT a dict, a POINT a pair. Every tick below `watermark` has been evaluated."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    watermark: int
    occurrences: tuple[Occurrence, ...]
