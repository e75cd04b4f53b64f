"""The workloads: each a question in our language, the same one for stock Spark, and the target.

The order is that of the table. `times` is how many times as fast as stock Spark with RocksDB we must be, at
250,000 readings per micro-batch.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """`question` is ours; `peer` names stock Spark's query (spark/peers/queries.py). `share` is the part of
    the readings that the workload takes: the joins have two streams of a fifth of them."""

    name: str
    title: str
    streams: tuple[str, ...]
    question: str
    peer: str
    times: float | None = None
    share: float = 1.0
    refused: bool = False


READINGS = ("readings",)
PAIR = ("a", "b")

WORKLOADS = (
    Workload(
        "filter",
        "filter",
        READINGS,
        "SELECT time, id, v FROM readings WHERE w < 0.1 AND v > 0",
        "filter",
    ),
    Workload(
        "hop60x5",
        "hop 60 s / 5 s",
        READINGS,
        "SELECT id, AVG(v) AS mean FROM readings [RANGE 60 SECONDS SLIDE 5 SECONDS] GROUP BY id",
        "hop60x5",
        times=3.0,
    ),
    Workload(
        "hop60x1",
        "hop 60 s / 1 s",
        READINGS,
        "SELECT id, AVG(v) AS mean FROM readings [RANGE 60 SECONDS SLIDE 1 SECOND] GROUP BY id",
        "hop60x1",
        times=10.0,
    ),
    Workload(
        "join",
        "keyed join within 2 s",
        PAIR,
        "SELECT time, A.id AS id, A.x AS x, B.y AS y FROM a A, b B WINDOW(A, B) = 2 SECONDS WHERE A.id = B.id",
        "join",
        times=15.0,
        share=0.2,
    ),
    Workload(
        "asof",
        "as-of join",
        PAIR,
        "SELECT A.time AS time, A.id AS id, A.x AS x, B.y AS y FROM a A ASOF JOIN b B ON A.id = B.id",
        "asof",
        share=0.2,
        refused=True,
    ),
    Workload(
        "rows",
        "row window of 100",
        READINGS,
        "SELECT AVG(v) AS mean FROM readings [RANGE 100 ROWS]",
        "rows",
        refused=True,
    ),
)

JOINS = (
    Workload(
        "join3",
        "3-way WINDOW join, 2 s",
        ("a", "b", "c"),
        "SELECT time, A.id AS id, A.x AS x, B.y AS y, C.z AS z FROM a A, b B, c C WINDOW = 2 SECONDS WHERE A.id = B.id AND B.id = C.id",
        "join3",
        times=5.0,
        share=0.06,
    ),
    Workload(
        "join4",
        "4-way WINDOW join, 1 s",
        ("a", "b", "c", "d"),
        "SELECT time, A.id AS id, A.x AS x, B.y AS y, C.z AS z, D.u AS u FROM a A, b B, c C, d D WINDOW = 1 SECOND"
        " WHERE A.id = B.id AND B.id = C.id AND C.id = D.id",
        "join4",
        times=5.0,
        share=0.04,
    ),
)
"""The workloads of `bench joins`."""


def named(name: str) -> Workload:
    """The workload of that name."""
    return next(each for each in WORKLOADS if each.name == name)
