"""Result logs in the hands of a test: commits with all that a column can hold, of several versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from nilometer.dataflow.ledger import QueryLedger
from nilometer.log import LogSettings
from nilometer.log.local_files import LocalFiles
from nilometer.log.results import Commit, ResultLog, types_of
from nilometer.operators.frames import dtypes
from nilometer.sinks.commits import Commits
from nilometer.sinks.delivery import Delivery
from nilometer.sinks.registry import sink_for
from nilometer.sinks.sink import Origin
from nilometer.sinks.values import json_lines, rows_of
from nilometer.types import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    POINT,
    STRING,
    TIME,
    Column,
    Schema,
    list_of,
    struct_of,
)

ORIGIN = Origin("Smoky", "1a2b3c4d")
NOON = 1_772_366_400_000_000

PLAIN = Schema((Column("time", TIME), Column("id", INT), Column("x", FLOAT)))
MATCH = struct_of(
    Column("id", INT), Column("seen", TIME), Column("at", POINT), Column("words", list_of(STRING))
)
ALL = Schema(
    (
        Column("time", TIME),
        Column("number", INT),
        Column("x", FLOAT),
        Column("some words", STRING),
        Column("wet", BOOLEAN),
        Column("at", POINT),
        Column("since", DURATION),
        Column("seen", list_of(TIME)),
        Column("match", MATCH),
        Column("matches", list_of(MATCH)),
    )
)
ONE = {"id": 7, "seen": NOON, "at": {"x": 1.5, "y": -2.0}, "words": ["a'b", None, "\u2028"]}
NOTHING = {"id": None, "seen": None, "at": None, "words": None}
VALUES: list[list[Any]] = [
    [NOON, NOON + 1, None, -62_135_596_800_000_000],
    [INT_MAXIMUM, INT_MINIMUM, None, 2**53 + 1],
    [1.5, float("inf"), None, -0.0],
    ['it\'s "so"', "two\nlines\\u0000\t", None, "zero:\0 ünï ☂"],
    [True, False, None, True],
    [{"x": 1.0, "y": 2.5}, {"x": -0.1, "y": 1e300}, None, {"x": 0.0, "y": 0.0}],
    [90_000_000, -1, None, 0],
    [[NOON, None], [], None, [0]],
    [ONE, NOTHING, None, ONE],
    [[ONE, NOTHING, None], [], None, [ONE]],
]


def everything() -> pl.DataFrame:
    """Rows of `ALL`."""
    return pl.DataFrame(
        {
            column.name: pl.Series(column.name, values, dtype=dtypes(ALL)[column.name])
            for column, values in zip(ALL, VALUES, strict=True)
        }
    )


def plain(first: int, count: int) -> pl.DataFrame:
    """Rows of `PLAIN`, whose values tell their place."""
    numbers = range(first, first + count)
    rows = {"time": [NOON + n for n in numbers], "id": list(numbers), "x": [n / 4 for n in numbers]}
    return pl.DataFrame(rows, schema=dtypes(PLAIN))


class Results:
    """The result logs of a query, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = -1
        self.rows = 0

    def files(self) -> list[LocalFiles]:
        """The logs that there are."""
        names = ["results", *(f"results-{n}" for n in range(2, 10))]
        return [
            LocalFiles(self.folder / name)
            for name in names
            if name == "results" or (self.folder / name).is_dir()
        ]

    def commit(self, rows: pl.DataFrame, schema: Schema = PLAIN, version: str = "v1", log: int = 1) -> None:
        """One commit more."""
        self.number += 1
        name = "results" if log == 1 else f"results-{log}"
        results = ResultLog(LocalFiles(self.folder / name), dtypes(schema), LogSettings(segment_bytes=2_000))
        results.commit(rows, Commit(version, self.number, {}, QueryLedger(), types=types_of(schema)))
        results.close()

    def answer(self, *counts: int, version: str = "v1") -> None:
        """Commits of so many plain rows each."""
        for count in counts:
            self.commit(plain(self.rows, count), version=version)
            self.rows += count

    def delivery(
        self,
        url: str,
        failpoint: Callable[[str], None] | None = None,
        origin: Origin = ORIGIN,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> Delivery:
        """To a sink."""
        return Delivery(self.files, sink_for(url, origin, failpoint), clock)

    def deliver(self, url: str) -> Delivery:
        """All that there is, at once; raises what the sink meets."""
        delivery = self.delivery(url)
        delivery.step(all_of_it=True)
        delivery.close()
        if delivery.error is not None:
            raise delivery.error
        return delivery

    def as_json(self) -> list[dict[str, Any]]:
        """All rows, as JSON has them."""
        commits = Commits(self.files)
        found = []
        while read := commits.read(1_000):
            for answered, _ in read:
                rows = rows_of(answered.rows, answered.schema)
                found += [json.loads(line) for line in json_lines(rows, answered.schema)]
        return found
