"""NEXMark: the queries of docs/nexmark.md, judged by DuckDB over the same files."""

from __future__ import annotations

import csv
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

import nilometer
from nexmark.events import events

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "nexmark.md").read_text(encoding="utf-8")
DECLARATIONS, *_ = re.findall(r"```sql\n(CREATE.*?)```", PAGE, flags=re.DOTALL)
QUERIES = dict(re.findall(r"^## (q\d+)\n\n```sql\n(.*?);\n```", PAGE, flags=re.DOTALL | re.MULTILINE))
TIMES = {"person": ("dateTime",), "auction": ("dateTime", "expires"), "bid": ("dateTime",)}
BY_THE_REFERENCE = ("q3", "q7", "q11", "q15", "q18")

JUDGES = {
    "q0": """
        SELECT auction, bidder, price, time, extra FROM bid
    """,
    "q5": """
        WITH w AS (SELECT auction, s FROM bid, LATERAL (SELECT UNNEST(generate_series(epoch_us(time) // 2000000 - 4, epoch_us(time) // 2000000)) AS s)),
        c AS (SELECT auction, s, COUNT(*) AS num FROM w GROUP BY auction, s)
        SELECT auction, num FROM c WHERE num = (SELECT MAX(num) FROM c d WHERE d.s = c.s)
    """,
    "q7": """
        SELECT auction, price, bidder, time, extra FROM bid b WHERE price = (SELECT MAX(price) FROM bid c WHERE epoch_us(c.time) // 10000000 = epoch_us(b.time) // 10000000)
    """,
    "q8": """
        SELECT DISTINCT p.id, p.name, make_timestamp(epoch_us(p.time) // 10000000 * 10000000) FROM person p JOIN auction a ON p.id = a.seller AND epoch_us(p.time) // 10000000 = epoch_us(a.time) // 10000000
    """,
    "q11": """
        WITH g AS (SELECT bidder, time, CASE WHEN time - LAG(time) OVER w < INTERVAL 10 SECOND THEN 0 ELSE 1 END AS new FROM bid WINDOW w AS (PARTITION BY bidder ORDER BY time)),
        s AS (SELECT bidder, time, SUM(new) OVER (PARTITION BY bidder ORDER BY time) AS n FROM g)
        SELECT bidder, COUNT(*), MIN(time), MAX(time) + INTERVAL 10 SECOND FROM s GROUP BY bidder, n
    """,
    "q12": """
        SELECT bidder, COUNT(*), make_timestamp(epoch_us(time) // 10000000 * 10000000), make_timestamp(epoch_us(time) // 10000000 * 10000000 + 10000000) FROM bid GROUP BY ALL
    """,
}
"""What DuckDB is asked where it does not understand the query itself: it has no windows over streams."""


def judged(query: str) -> str:
    """The query in DuckDB's words."""
    text = JUDGES.get(query, re.sub(r"\bdateTime\b", "time", QUERIES[query]))
    for ours, theirs in (("YYYY-MM-DD", "%Y-%m-%d"), ("HH24:MI", "%H:%M")):
        text = text.replace(f"to_char(time, '{ours}')", f"strftime(time, '{theirs}')")
    return text


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    for name, rows in vars(events(2_000)).items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(
                {k: _iso(v) if k in ("dateTime", "expires") else v for k, v in row.items()} for row in rows
            )
    (folder / "side_input.csv").write_text("key,value\n" + "".join(f"{n},side {n}\n" for n in range(10)))
    (folder / "schema.sql").write_text(DECLARATIONS)
    return folder


@pytest.fixture(scope="module")
def duck(house: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name in ("person", "auction", "bid", "side_input"):
        cast = ", ".join(f"CAST({each} AS TIMESTAMP) AS {each}" for each in TIMES.get(name, ()))
        times = f"* REPLACE ({cast})" if cast else "*"
        connection.execute(f"CREATE TABLE {name} AS SELECT {times} FROM read_csv('{house / name}.csv')")
        if name != "side_input":
            connection.execute(f"ALTER TABLE {name} RENAME COLUMN dateTime TO time")
    return connection


def _iso(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def plain(rows: Any) -> Counter[tuple[Any, ...]]:
    """Rows as a multiset; times without a zone, numbers rounded."""

    def value(each: Any) -> Any:
        if isinstance(each, datetime):
            return each.replace(tzinfo=None)
        return float(f"{each:.9g}") if isinstance(each, int | float) and not isinstance(each, bool) else each

    def number(each: Any) -> Any:
        return float(each) if type(each).__name__ == "Decimal" else each

    return Counter(tuple(value(number(each)) for each in row) for row in rows)


def asked(house: Path, query: str, host: str) -> Counter[tuple[Any, ...]]:
    found = nilometer.connect(house).sql(QUERIES[query])
    columns = [name for name in found.columns if name != "tick"]
    return plain([row[name] for name in columns] for row in found.run(host))


@pytest.mark.parametrize("query", QUERIES)
def test_the_rows_are_duckdbs(query: str, house: Path, duck: duckdb.DuckDBPyConnection) -> None:
    expected = plain(duck.execute(judged(query)).fetchall())
    assert expected
    assert asked(house, query, "gateway") == expected


@pytest.mark.parametrize("query", BY_THE_REFERENCE)
def test_the_reference_agrees(query: str, house: Path) -> None:
    assert asked(house, query, "reference") == asked(house, query, "gateway")


def test_every_query_is_in_the_table() -> None:
    assert list(QUERIES) == [f"q{n}" for n in range(23) if n != 10]
    assert re.findall(r"^\| \[(q\d+)\]", PAGE, flags=re.MULTILINE) == list(QUERIES)
