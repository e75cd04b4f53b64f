"""What a simulated data directory declares: two streams from the broker, and standing queries over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

RIVER, RAIN = "river", "rain"

QUERIES: Mapping[str, str] = {
    "every": "SELECT time, id, x, v FROM river",
    "high": "SELECT time, id, v * 2 AS double FROM river WHERE v > 0.5",
    "means": "SELECT id, AVG(v) AS mean, COUNT(*) AS n FROM river [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY id",
    "sums": "SELECT SUM(x) AS total, MAX(time) AS last FROM rain [RANGE 3 SECONDS SLIDE 1 SECOND]",
    "days": "SELECT id, COUNT(*) AS n, MIN(v) AS least FROM river GROUP BY id, TUMBLE(time, INTERVAL '5' SECOND)",
    "steps": "SELECT time, id, LAG(x) AS before FROM rain",
    "recent": "ISTREAM SELECT id, x FROM rain [RANGE 3 ROWS]",
    "pairs": "SELECT r.x AS x, q.x AS y FROM river AS r, rain AS q WINDOW = 2 SECONDS WHERE r.id = q.id",
    "both": (
        "SELECT r.id AS id, COUNT(*) AS n FROM river [RANGE 3 SECONDS SLIDE 1 SECOND] r, "
        "rain [RANGE 3 SECONDS SLIDE 1 SECOND] q WHERE r.id = q.id GROUP BY r.id"
    ),
}
"""A query of a name may change: another name's text under it is another version of it."""


@dataclass(frozen=True)
class Declarations:
    """`queries` are names and the texts that are declared under them."""

    delay: int = 2
    keyed: bool = True
    queries: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """As schema.sql."""
        key = " KEY (id, time)" if self.keyed else ""
        streams = (
            f"CREATE STREAM {RIVER} (x INT, v FLOAT) PUSHED FROM 'mqtt://broker/{RIVER}/{{id}}' "
            f"DELAY {self.delay} SECONDS{key};\n"
            f"CREATE STREAM {RAIN} (x INT, v FLOAT) PUSHED FROM 'mqtt://broker/{RAIN}/{{id}}' DELAY 1 SECOND;\n"
        )
        return streams + "".join(
            f"CREATE QUERY {name} STARTING AT BEGINNING AS {sql};\n" for name, sql in self.queries.items()
        )


def first_declarations(random: Random) -> Declarations:
    """A random start: one to three queries."""
    names = random.sample(sorted(QUERIES), random.randint(1, 3))
    return Declarations(
        random.choice((0, 1, 2, 3)), random.random() < 0.7, {name: QUERIES[name] for name in names}
    )


def changed_queries(before: Declarations, random: Random) -> Declarations:
    """One query more, less, or with another text."""
    queries = dict(before.queries)
    match random.randrange(3):
        case 0:
            name = random.choice(sorted(QUERIES))
            queries.setdefault(name, QUERIES[name])
        case 1 if len(queries) > 1:
            del queries[random.choice(sorted(queries))]
        case _:
            queries[random.choice(sorted(queries))] = QUERIES[random.choice(sorted(QUERIES))]
    return replace(before, queries=queries)


def changed_streams(before: Declarations, random: Random) -> Declarations:
    """Another DELAY, or KEY."""
    if random.random() < 0.6:
        return replace(before, delay=random.choice([each for each in range(5) if each != before.delay]))
    return replace(before, keyed=not before.keyed)
