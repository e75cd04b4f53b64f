"""Hypothesis strategies: queries in layers, whose parts have keys that agree, or do not, or are lost on the way up."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from properties.random_queries import STREAMS, Case, readings, seconds

GROUPS = (
    "r.id",
    "r.name",
    "r.x",
    "r.ok",
    "r.id, r.name",
    "r.x, r.id",
    "r.x % 2",
    "r.v",
    "r.x * 2305843009213693952",  # beyond 64 bits for x = 4: an error, unless a condition drops the row
    "r.x * 1.0",
    "coalesce(r.name, '?')",
)
VALUES = (
    "COUNT(*)",
    "SUM(r.x)",
    "AVG(r.v)",
    "MIN(r.name)",
    "MEDIAN(r.x)",
    "COUNT(DISTINCT r.name)",
    "MAX(r.x)",
)
JOINED = (
    "SUM(q.x)",
    "SUM(r.v)",
    "AVG(q.x)",
    "AVG(r.v)",
    "STDEV(q.x)",
    "VARIANCE(r.v)",
    "MIN(q.v)",
    "MAX(r.x)",
)
"""Aggregates of joined windows."""
KEYS = (
    "r.id = q.id",
    "r.x = q.x",
    "r.id = q.id AND r.name = q.name",
    "r.x = q.v",
    "r.id = q.x",
    "r.name = q.name",
)
COLUMNS = "time, id, x, v, name, ok"


@st.composite
def sliding(draw: Any) -> str:
    """A window, mostly one whose evaluations the clock gives."""
    length = draw(seconds)
    return draw(
        st.sampled_from(
            (
                f"[RANGE {length} SECONDS SLIDE {draw(seconds)} SECONDS]",
                f"[RANGE {length} SECONDS SLIDE 1 SECOND]",
                f"[FROM NOW - {length} SECONDS TO NOW - 1 SECOND SLIDE 2 SECONDS]",
                "[UNBOUNDED SLIDE 2 SECONDS]",
                "[NOW]",
                "[NOW SLIDE 1 SECOND]",
                f"[RANGE {length} SECONDS]",
            )
        )
    )


def _columns(alias: str) -> str:
    return ", ".join(f"{alias}.{name}" for name in COLUMNS.split(", "))


@st.composite
def stream(draw: Any, alias: str, depth: int = 1) -> str:
    """A stream that may be named as a source: with all columns, under the alias."""
    name = draw(st.sampled_from(STREAMS))
    if depth == 0 or draw(st.booleans()):
        return f"{name} {alias}"
    inner = draw(stream("i", depth - 1))
    condition = draw(st.sampled_from(("", "", " WHERE i.x > 0", " WHERE i.ok", " WHERE i.id IS NOT NULL")))
    form = draw(st.integers(0, 6))
    kind = draw(st.sampled_from(("RSTREAM", "ISTREAM", "DSTREAM")))
    queries = (
        f"SELECT {_columns('i')} FROM {inner}{condition}",
        f"SELECT i.time, i.id, LAG(i.x) AS x, i.v, i.name, i.ok FROM {inner}{condition}",
        f"SELECT i.time, i.id, i.x, DELTA(i.v) AS v, i.name, i.ok FROM {inner}{condition}",
        f"SELECT {_columns('i')} FROM {inner}{condition} SAMPLE EVERY {draw(seconds)} SECONDS",
        f"SELECT i.time, i.id, q.x AS x, q.v AS v, i.name, q.ok AS ok FROM {inner} ASOF JOIN"
        f" {draw(stream('q', depth - 1))} ON {draw(st.sampled_from(KEYS)).replace('r.', 'i.')}",
        f"{kind} SELECT {_columns('i')} FROM {name} {draw(sliding())} i{condition}",
        f"SELECT i.time, i.id, t.k AS x, t.weight AS v, t.label AS name, i.ok FROM {inner}, t"
        f" WHERE i.{draw(st.sampled_from(('x', 'id')))} = t.k",
    )
    return f"({queries[form]}) {alias}"


@st.composite
def windowed(draw: Any, alias: str) -> str:
    """A windowed stream; the window stands before the alias."""
    source = draw(stream(alias))
    return f"{source.removesuffix(f' {alias}')} {draw(sliding())} {alias}"


@st.composite
def grouped(draw: Any) -> str:
    """A grouped aggregate of windows."""
    group = draw(st.sampled_from(GROUPS))
    parts = [group] if "(" in group else group.split(", ")
    keys = ", ".join(f"{part} AS k{place}" for place, part in enumerate(parts, 1))
    values = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=2))
    chosen = ", ".join(f"{value} AS c{place}" for place, value in enumerate(values, 1))
    condition = draw(
        st.sampled_from(("", "", " WHERE r.x < 4", " WHERE r.ok", " WHERE r.time >= now - 3 SECONDS"))
    )
    having = draw(st.sampled_from(("", "", " HAVING COUNT(*) > 1")))
    return f"SELECT {keys}, {chosen} FROM {draw(windowed('r'))}{condition} GROUP BY {group}{having}"


@st.composite
def layered(draw: Any) -> str:
    """A query of one, two or three layers."""
    kind = draw(st.sampled_from(("", "", "ISTREAM ", "DSTREAM ", "RSTREAM ")))
    form = draw(st.integers(0, 8))
    match form:
        case 0 | 1:
            return kind + draw(grouped())
        case 2:
            inner = draw(st.sampled_from(("RSTREAM ", "ISTREAM "))) + draw(grouped())
            group = draw(st.sampled_from(("g.k1", "g.c1", "g.k1, g.c1")))
            return (
                f"{kind}SELECT {group.split(', ')[0]} AS k, COUNT(*) AS n FROM ({inner})"
                f" {draw(sliding())} g GROUP BY {group}"
            )
        case 3:
            key = draw(st.sampled_from(KEYS))
            return (
                f"{kind}SELECT r.id AS a, q.id AS b, r.x AS c, q.name AS d FROM {draw(windowed('r'))},"
                f" {draw(windowed('q'))} WHERE {key}"
            )
        case 4:
            key = draw(st.sampled_from(KEYS))
            group = draw(st.sampled_from(("r.id", "q.id", "r.x", "q.x", "r.name, q.x", "")))
            value = draw(st.sampled_from(JOINED))
            chosen, by = (f"{group.split(', ')[0]} AS k, ", f" GROUP BY {group}") if group else ("", "")
            return (
                f"{kind}SELECT {chosen}COUNT(*) AS n, {value} AS c FROM {draw(windowed('r'))},"
                f" {draw(windowed('q'))} WHERE {key}{by}"
            )
        case 5:
            one, other = draw(stream("r")), draw(stream("r"))
            columns = draw(
                st.sampled_from(("r.id AS k, r.x AS c", "r.x AS k, r.id AS c", "r.name AS k, r.v AS c"))
            )
            united = f"SELECT {columns} FROM {one} UNION SELECT {columns} FROM {other}"
            if draw(st.booleans()):
                return united
            return f"{kind}SELECT u.k AS k, COUNT(*) AS n FROM ({united}) {draw(sliding())} u GROUP BY u.k"
        case 6:
            subject = draw(stream("i", 0)).split()[0]
            group = draw(st.sampled_from(("z.id", "z.state", "z.id, z.state")))
            return (
                f"{kind}SELECT {group.split(', ')[0]} AS k, COUNT(*) AS n FROM SILENT({subject} FOR"
                f" {draw(seconds)} SECONDS) {draw(sliding())} z GROUP BY {group}"
            )
        case 7:
            links = draw(
                st.sampled_from(
                    (
                        "r.id = q.id AND q.id = w.id",
                        "r.x = q.x AND r.x = w.v",
                        "r.id = q.id",
                        "r.id = q.id AND q.x = w.x",
                        "r.name = q.name AND q.x = w.v AND r.v < w.v",
                    )
                )
            )
            body = (
                f"SELECT r.id AS a, q.x AS b, w.v AS c FROM {draw(stream('r'))}, {draw(stream('q'))},"
                f" {draw(stream('w'))} WINDOW = {draw(seconds)} SECONDS WHERE {links}"
            )
            if draw(st.booleans()):
                return body
            group = draw(st.sampled_from(("j.a", "j.b", "j.c")))
            return (
                f"{kind}SELECT {group} AS k, COUNT(*) AS n FROM ({body}) {draw(sliding())} j GROUP BY {group}"
            )
        case _:
            some = draw(
                st.sampled_from(
                    (
                        "COUNT(*) AS n",
                        "AVG(r.v) AS a, MAX(r.x) AS m",
                        "STDEV(r.x) AS s",
                        "SUM(r.x) AS s",
                        "MIN(r.name) AS m",
                    )
                )
            )
            return f"{kind}SELECT {some} FROM {draw(windowed('r'))}"


@st.composite
def layered_cases(draw: Any) -> Case:
    """A query and its logs."""
    return Case(draw(layered()), {name: draw(readings()) for name in STREAMS})
