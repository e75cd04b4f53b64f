"""Compiles the kernels once, so that a user's first windowed query does not wait for the compiler; `./nilo`
calls it at set-up.
"""

from __future__ import annotations

from nilometer.engine import connect

QUERIES = (
    "SELECT id, AVG(x) AS a, MAX(x) AS b, SUM(n) AS c, MIN(n) AS d, STDEV(x) AS e FROM s [RANGE 3 SECONDS SLIDE 1 SECOND] GROUP BY id",
    "SELECT COUNT(*) AS n, AVG(n) AS a, VARIANCE(x) AS v FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS]",
    "SELECT A.x AS x FROM s A, s B WINDOW = 2 SECONDS WHERE A.id = B.id",
    "SELECT * FROM SIMILAR(s, x) [RANGE 3 SECONDS]",
    "SELECT * FROM SIMILAR(s, x WITHIN 1 COUNTS) [RANGE 3 SECONDS]",
)


def warm_up() -> None:
    """Run the usual window aggregates and joins over a few readings. Numba caches the compiled code."""
    database = connect()
    database.execute("CREATE STREAM s (x FLOAT, n INT) PUSHED")
    rows = [
        {"time": second * 1_000_000, "id": second % 2, "x": second / 2, "n": second} for second in range(8)
    ]
    database.append("s", rows)
    for text in QUERIES:
        database.sql(text).run("gateway")


if __name__ == "__main__":
    warm_up()
