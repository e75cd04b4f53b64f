"""Hypothesis strategies: random queries, as text, over random, disordered streams with late rows, NULLs and ties.

Queries are text on purpose: the parser, the binder and the printer are on trial too. Floats are multiples of 1/64, so
that sums are exact whatever the order.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from properties.random_expressions import (
    COLUMNS,
    condition,
    items,
    number,
    sixty_fourths,
    where,
)

BASE = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
SECOND = 1_000_000

SCHEMA = """
CREATE STREAM a (x INT, v FLOAT, name STRING, ok BOOLEAN) PUSHED DELAY 3 SECONDS EXPECT EVERY 1 SECOND;
CREATE STREAM b (x INT, v FLOAT, name STRING, ok BOOLEAN) PUSHED;
CREATE STREAM s (x INT, v FLOAT, name STRING, ok BOOLEAN) SENSED EVERY 2 SECONDS DELAY 2 SECONDS;
CREATE SENSOR 1 OF s AT (0.0, 0.0) WITH kind = 'gauge', zone = 1;
CREATE SENSOR 2 OF s AT (3.0, 4.0) WITH kind = 'rain', zone = 2;
CREATE SENSOR 3 OF s WITH kind = 'gauge';
"""

TABLE_ROWS = [
    {"k": 1, "label": "red", "weight": 0.5},
    {"k": 2, "label": "blue", "weight": 1.25},
    {"k": 2, "label": None, "weight": None},
    {"k": None, "label": "red", "weight": 2.0},
]

STREAMS = ("a", "b", "s")


@dataclass(frozen=True)
class Case:
    """A query and the logs it runs over: per stream a list of rows (dictionaries) and heartbeats (ints)."""

    sql: str
    logs: dict[str, list[Any]]


@st.composite
def readings(draw: Any, most: int = 14) -> list[Any]:
    """A stream's log: mostly rising times with jumps back, ties, NULLs, and now and then a heartbeat."""
    entries: list[Any] = []
    now = draw(st.integers(0, 6)) * SECOND // 2
    for _ in range(draw(st.integers(0, most))):
        now = max(0, now + draw(st.sampled_from((0, 0, 1, 1, 2, 3, 5, -1, -2, -4, -8))) * SECOND // 2)
        if draw(st.integers(0, 15)) == 0:
            entries.append(BASE + now)
            continue
        entries.append(
            {
                "time": BASE + now,
                "id": draw(st.sampled_from((1, 1, 2, 2, 3, None))),
                "x": draw(st.none() | st.integers(-3, 5)),
                "v": draw(st.none() | sixty_fourths),
                "name": draw(st.sampled_from(("red", "blue", "b%", "", None))),
                "ok": draw(st.sampled_from((True, False, None))),
            }
        )
    return entries


# ---- windows ---------------------------------------------------------------------------------------------------------

seconds = st.sampled_from((1, 2, 3, 4, 5, 7, 10))


@st.composite
def time_window(draw: Any, *, slides: bool = True) -> str:
    """A window over time."""
    far, near = sorted((draw(st.integers(0, 8)), draw(st.integers(0, 8))), reverse=True)
    spec = draw(
        st.sampled_from(
            (
                "NOW",
                f"RANGE {draw(seconds)} SECONDS",
                f"FROM NOW - {far} SECONDS TO NOW - {near} SECONDS",
                f"FROM NOW - {far} SECONDS TO NOW",
                f"AT NOW - {far} SECONDS",
                "UNBOUNDED",
                f"RANGE {draw(st.integers(1, 9)) * 500} MILLISECONDS",
            )
        )
    )
    slide = f" SLIDE {draw(seconds)} SECONDS" if slides and draw(st.booleans()) else ""
    return f"[{spec}{slide}]"


@st.composite
def row_window(draw: Any) -> str:
    """A window over rows."""
    far, near = sorted((draw(st.integers(0, 5)), draw(st.integers(0, 5))), reverse=True)
    spec = draw(
        st.sampled_from(
            (f"RANGE {draw(st.integers(1, 6))} ROWS", f"FROM NOW - {far} ROWS TO NOW - {near} ROWS")
        )
    )
    slide = f" SLIDE {draw(st.integers(1, 4))} ROWS" if draw(st.booleans()) else ""
    return f"[{spec}{slide}]"


def window() -> Any:
    """Any window."""
    return st.one_of(time_window(), time_window(), time_window(), row_window())


# ---- sources ---------------------------------------------------------------------------------------------------------


@st.composite
def stream_source(draw: Any, alias: str) -> str:
    """A stream without a window: an extent or a subquery."""
    name = draw(st.sampled_from(STREAMS))
    if draw(st.integers(0, 3)):
        return f"{name} AS {alias}"
    inner = draw(where(["q"]))
    return f"(SELECT q.time, q.id, q.x, q.v, q.name, q.ok FROM {name} q{inner}) AS {alias}"


@st.composite
def windowed_source(draw: Any, alias: str) -> str:
    """A windowed stream."""
    name = draw(st.sampled_from(STREAMS))
    chosen = draw(window())
    match draw(st.integers(0, 7)):
        case 0:
            return f"(SELECT q.time, q.id, q.x, q.v, q.name, q.ok FROM {name} q{draw(where(['q']))}) {chosen} {alias}"
        case 1:
            kind = draw(st.sampled_from(("RSTREAM", "ISTREAM", "DSTREAM")))
            inner = draw(time_window())
            return (
                f"({kind} SELECT q.time, q.id, q.x, q.v, q.name, q.ok FROM {name} {inner} q) {chosen} {alias}"
            )
        case _:
            return f"{name} {chosen} {alias}"


# ---- queries ---------------------------------------------------------------------------------------------------------

AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "STDEV", "VARIANCE", "MEDIAN")


@st.composite
def aggregate(draw: Any, aliases: list[str]) -> str:
    """An aggregate call, perhaps of the rows that pass a FILTER."""
    call = draw(aggregate_of_all(aliases))
    if draw(st.integers(0, 3)):
        return call
    return f"{call} FILTER (WHERE {draw(condition(aliases))})"


@st.composite
def aggregate_of_all(draw: Any, aliases: list[str]) -> str:
    """An aggregate call without a FILTER."""
    if not draw(st.integers(0, 4)):
        return "COUNT(*)"
    if not draw(st.integers(0, 2)):
        return draw(newer_aggregate(aliases))
    function = draw(st.sampled_from(AGGREGATES))
    if function in ("MIN", "MAX", "COUNT") and draw(st.booleans()):
        argument = f"{draw(st.sampled_from(aliases))}.{draw(st.sampled_from(tuple(COLUMNS)))}"
    else:
        argument = draw(number(aliases, 1))
    distinct = "DISTINCT " if not draw(st.integers(0, 5)) else ""
    return f"{function}({distinct}{argument})"


@st.composite
def newer_aggregate(draw: Any, aliases: list[str]) -> str:
    """An aggregate of several arguments, of ordered rows, or a sketch."""
    alias = draw(st.sampled_from(aliases))
    of = f"{alias}.{draw(st.sampled_from(tuple(COLUMNS)))}"
    by = f"{draw(st.sampled_from(aliases))}.{draw(st.sampled_from(('x', 'v', 'name', 'time')))}"
    one = len(aliases) == 1
    order = draw(st.sampled_from(("", f" ORDER BY {by}, {alias}.id", f" ORDER BY {by} DESC, {alias}.x")))
    share = draw(st.sampled_from(("0", "0.1", "0.5", "0.7", "1")))
    match draw(st.integers(0, 9)):
        case 0:
            end = draw(st.sampled_from(("FIRST", "LAST")))
            return f"{end}({of}{order or ('' if one else f' ORDER BY {by}')})"
        case 1:
            return f"{draw(st.sampled_from(('ARG_MAX', 'ARG_MIN')))}({of}, {by})"
        case 2:
            return f"ARRAY_AGG({of}{order})"
        case 3:
            distinct = draw(st.booleans())
            return (
                f"STRING_AGG({'DISTINCT ' if distinct else ''}{alias}.name, '-'{'' if distinct else order})"
            )
        case 4:
            return f"{draw(st.sampled_from(('MODE', 'APPROX_COUNT_DISTINCT')))}({of})"
        case 5:
            function = draw(st.sampled_from(("PERCENTILE_CONT", "APPROX_PERCENTILE")))
            return f"{function}({draw(number(aliases, 1))}, {share})"
        case 6:
            return f"PERCENTILE_DISC({share}) WITHIN GROUP (ORDER BY {of})"
        case 7:
            pairs = ("CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2")
            return f"{draw(st.sampled_from(pairs))}({alias}.v, {draw(st.sampled_from(aliases))}.x)"
        case 8 if one:
            method = draw(st.sampled_from(("", ", 'LINEAR'", ", 'STEP'")))
            return (
                f"{draw(st.sampled_from(('TWA', 'INTEGRAL')))}({alias}.{draw(st.sampled_from('xv'))}{method})"
            )
        case _:
            held = draw(st.sampled_from(("BOOL_AND", "BOOL_OR", "COUNT_IF")))
            whole = f"{draw(st.sampled_from(('VAR_POP', 'STDDEV_POP')))}({alias}.v)"
            return draw(st.sampled_from((f"{held}({alias}.x > 1)", whole, f"AVG(now - {alias}.time)")))


@st.composite
def stream_query(draw: Any) -> str:
    """Select, project, LAG, SAMPLE over one stream, perhaps with the table."""
    source = draw(stream_source("r"))
    chosen = draw(items(["r"]))
    extra = []
    if draw(st.booleans()):
        chosen += ", " + draw(
            st.sampled_from(
                (
                    "LAG(r.x) AS l",
                    "LAG(r.name, 2) AS l",
                    "DELTA(r.v) AS l",
                    "RATE(r.x) AS l",
                    "LAG(r.v + 1, 3) AS l",
                )
            )
        )
    if not draw(st.integers(0, 3)):
        source += ", t"
        chosen += ", t.label AS label"
        if draw(st.booleans()):
            extra.append("t.k = r.x")
    if not draw(st.integers(0, 5)):
        extra.append(
            f"r.x {draw(st.sampled_from(('IN', 'NOT IN')))} (SELECT t2.k FROM t AS t2{draw(st.sampled_from(('', ' WHERE t2.k > 0')))})"
        )
    sample = f" SAMPLE EVERY {draw(seconds)} SECONDS" if not draw(st.integers(0, 3)) else ""
    return f"SELECT {chosen} FROM {source}{draw(where(['r'], *extra))}{sample}"


@st.composite
def window_query(draw: Any) -> str:
    """Windows: plain, aggregated, grouped, differences."""
    source = draw(windowed_source("r"))
    kind = draw(st.sampled_from(("", "", "RSTREAM ", "ISTREAM ", "DSTREAM ")))
    extra = []
    if not draw(st.integers(0, 4)):
        source += ", t"
        if draw(st.booleans()):
            extra.append("r.x = t.k")
    if not draw(st.integers(0, 5)):
        extra.append(
            f"r.v {draw(st.sampled_from(('>', '<=')))} (SELECT AVG(q.v) FROM {draw(st.sampled_from(STREAMS))} {draw(time_window())} q)"
        )
    if not draw(st.integers(0, 6)):
        extra.append(
            f"r.x > (SELECT COUNT(*) FROM {draw(st.sampled_from(STREAMS))} {draw(time_window())} q WHERE q.id = r.id)"
        )
    if not draw(st.integers(0, 6)):
        extra.append(
            f"r.x {draw(st.sampled_from(('IN', 'NOT IN')))} (SELECT q.x FROM {draw(st.sampled_from(STREAMS))} {draw(time_window())} q)"
        )
    condition_text = draw(where(["r"], *extra))
    if not draw(st.integers(0, 8)):
        condition_text += (" AND" if condition_text else " WHERE") + " r.time >= now - 3 SECONDS"
    match draw(st.integers(0, 3)):
        case 0:
            return f"{kind}SELECT {draw(items(['r']))} FROM {source}{condition_text}"
        case 1:
            values = draw(st.lists(aggregate(["r"]), min_size=1, max_size=3))
            chosen = ", ".join(f"{value} AS c{n}" for n, value in enumerate(values, 1))
            time = ", r.time AS at" if draw(st.booleans()) else ""
            return f"{kind}SELECT {chosen}{time} FROM {source}{condition_text}"
        case _:
            key = draw(st.sampled_from(("r.id", "r.name", "r.x", "r.ok", "r.id, r.name", "r.x % 2")))
            values = draw(st.lists(aggregate(["r"]), min_size=1, max_size=2))
            chosen = ", ".join(f"{value} AS c{n}" for n, value in enumerate(values, 1))
            having = (
                f" HAVING {draw(aggregate(['r']))} IS NOT NULL AND COUNT(*) > {draw(st.integers(0, 2))}"
                if draw(st.booleans())
                else ""
            )
            return f"{kind}SELECT {key.split(',')[0]} AS k, {chosen} FROM {source}{condition_text} GROUP BY {key}{having}"


@st.composite
def join_query(draw: Any) -> str:
    """Windows with windows."""
    left, right = draw(windowed_source("r")), draw(windowed_source("q"))
    link = draw(
        st.sampled_from(
            ("r.id = q.id", "r.x = q.x", "r.x < q.x", "r.id = q.id AND r.v <= q.v", "r.name = q.name", "")
        )
    )
    condition_text = draw(where(["r", "q"], *([link] if link else [])))
    kind = draw(st.sampled_from(("", "", "ISTREAM ", "DSTREAM ")))
    third = ""
    if not draw(st.integers(0, 4)):
        third = f", {draw(windowed_source('w'))}"
    if draw(st.booleans()):
        return f"{kind}SELECT {draw(items(['r', 'q'], 2))} FROM {left}, {right}{third}{condition_text}"
    return f"{kind}SELECT {draw(aggregate(['r', 'q']))} AS c FROM {left}, {right}{third}{condition_text}"


LINKS = (
    "r.id = q.id",
    "r.x = q.x",
    "r.x < q.x",
    "r.id = q.id AND r.v <= q.v",
    "r.name = q.name AND r.x > 0",
    "r.id = q.id AND q.ok",
    "TRUE",
)
OUTER_KINDS = ("LEFT", "RIGHT", "FULL", "LEFT OUTER", "INNER")


@st.composite
def outer_join_query(draw: Any) -> str:
    """JOIN ... ON or USING: windows with windows, with the table on either side, a stream with the table, and streams
    within a WINDOW."""
    kind = draw(st.sampled_from(OUTER_KINDS))
    link = draw(st.sampled_from(LINKS))
    on = f"ON {link}" if draw(st.integers(0, 3)) else "USING (id, x)"
    bounds = ""
    match draw(st.integers(0, 5)):
        case 0 | 1:
            source = f"{draw(windowed_source('r'))} {kind} JOIN {draw(windowed_source('q'))} {on}"
        case 2:
            sides = [draw(windowed_source("r")), "t AS q"]
            if draw(st.booleans()):
                sides.reverse()
            source = (
                f"{sides[0]} {kind} JOIN {sides[1]} ON {draw(st.sampled_from(('r.x = q.k', 'r.x < q.k')))}"
            )
            columns = ("r.x", "r.id", "q.k", "q.weight", "q.label", "r.name", "r.v + q.weight")
            chosen = ", ".join(
                f"{draw(st.sampled_from(columns))} AS c{n}" for n in range(1, draw(st.integers(2, 4)))
            )
            tail = draw(st.sampled_from(("", " WHERE q.label IS NULL", " WHERE r.x > 0", " WHERE q.k < 2")))
            if draw(st.booleans()):
                return (
                    f"SELECT q.label AS c1, COUNT(*) AS n, SUM(r.x) AS m FROM {source}{tail} GROUP BY q.label"
                )
            return f"{draw(st.sampled_from(('', 'ISTREAM ')))}SELECT {chosen} FROM {source}{tail}"
        case 3:
            first = draw(st.sampled_from(("LEFT", "INNER")))
            source = f"{draw(stream_source('r'))} {first} JOIN t AS q ON r.x = q.k"
            tail = draw(st.sampled_from(("", " WHERE q.label IS NULL", " WHERE r.x > 0 AND q.k < 2")))
            return f"SELECT r.id AS c1, r.x AS c2, q.label AS c3 FROM {source}{tail}"
        case _:
            source = f"{draw(st.sampled_from(STREAMS))} r {kind} JOIN {draw(st.sampled_from(STREAMS))} q"
            if draw(st.booleans()):
                source, bounds = f"{source} {on}", f" WINDOW = {draw(seconds)} SECONDS"
            else:
                low, high = draw(st.integers(-3, 0)), draw(st.integers(0, 4))
                near = f"q.time BETWEEN r.time - {-low} SECONDS AND r.time + {high} SECONDS"
                source = f"{source} ON {link} AND {near}"
    condition_text = draw(where(["r", "q"]))
    if bounds or "BETWEEN r.time" in source:
        body = f"SELECT {draw(items(['r', 'q'], 2))}, time AS at FROM {source}{bounds}{condition_text}"
        if draw(st.booleans()):
            return body
        return f"SELECT COUNT(*) AS n, MAX(j.c1) AS m FROM ({body}) {draw(time_window())} j"
    shown = ", id AS c9" if on.startswith("USING") else ""
    if draw(st.booleans()):
        stream = draw(st.sampled_from(("", "", "ISTREAM ", "DSTREAM ")))
        return f"{stream}SELECT {draw(items(['r', 'q'], 2))}{shown} FROM {source}{condition_text}"
    key = draw(st.sampled_from(("", "r.id", "q.x")))
    chosen = f"{key} AS k, " if key else ""
    group = f" GROUP BY {key}" if key else ""
    values = ", ".join(f"{draw(aggregate(['r', 'q']))} AS c{n}" for n in (1, 2))
    return f"SELECT {chosen}{values} FROM {source}{condition_text}{group}"


@st.composite
def bounded_join_query(draw: Any) -> str:
    """STEAM's WINDOW clause over 2 or 3 streams."""
    aliases = ["r", "q", "w"][: draw(st.integers(2, 3))]
    sources = ", ".join(f"{draw(st.sampled_from(STREAMS))} AS {alias}" for alias in aliases)
    width = lambda: f"{draw(seconds)} SECONDS"  # noqa: E731
    form = draw(st.sampled_from(("all", "own", "pairs")))
    if form == "all":
        bounds = f"WINDOW = {width()}"
    elif form == "own":
        bounds = "WINDOW" + " AND WINDOW".join(f"({one}) = {width()}" for one in aliases)
    else:
        pairs = list(itertools.pairwise(aliases))
        if len(aliases) == 3 and draw(st.booleans()):
            pairs.append(("r", "w"))
        bounds = "WINDOW" + " AND WINDOW".join(f"({one}, {other}) = {width()}" for one, other in pairs)
    links = [
        draw(st.sampled_from((f"{x}.id = {y}.id", f"{x}.x = {y}.x", f"{x}.x < {y}.x")))
        for x, y in itertools.pairwise(aliases)
    ]
    body = (
        f"SELECT {draw(items(aliases, 2))}, time AS at FROM {sources} {bounds}{draw(where(aliases, *links))}"
    )
    if draw(st.booleans()):
        return body
    return f"SELECT COUNT(*) AS n, MAX(j.c1) AS m FROM ({body}) {draw(time_window())} j"


@st.composite
def asof_query(draw: Any) -> str:
    """ASOF JOIN."""
    within = f" WITHIN {draw(seconds)} SECONDS" if draw(st.booleans()) else ""
    key = draw(st.sampled_from(("r.id = q.id", "r.x = q.x", "r.id = q.id AND r.name = q.name")))
    body = f"SELECT {draw(items(['r', 'q'], 2))}, q.time AS found FROM {draw(stream_source('r'))} ASOF JOIN {draw(stream_source('q'))} ON {key}{within}{draw(where(['r', 'q']))}"
    return (
        body
        if draw(st.booleans())
        else f"SELECT COUNT(*) AS n, COUNT(j.found) AS f FROM ({body}) {draw(window())} j"
    )


@st.composite
def special_query(draw: Any) -> str:
    """SIMILAR, SILENT, COMPLETENESS, static attributes."""
    name = draw(st.sampled_from(STREAMS))
    match draw(st.integers(0, 5)):
        case 0 | 1:
            column = draw(st.sampled_from(("x", "v", "name")))
            eps = (
                f" WITHIN {draw(st.sampled_from(('0.5', '1', '0')))}"
                if column != "name" and draw(st.booleans())
                else ""
            )
            form = draw(st.sampled_from(("", " PAIRS", " FLATTEN", " COUNTS", " SAMPLE 2")))
            own = ("x", "v", "zone") if name == "s" else ("x", "v")
            width = draw(seconds.map(str) | st.sampled_from(own))
            return f"SELECT * FROM SIMILAR({name}, {column}{eps}{form}) [RANGE {width} SECONDS]"
        case 2:
            return f"SELECT * FROM SILENT({name} FOR {draw(seconds)} SECONDS)"
        case 3:
            group = draw(st.booleans())
            chosen = "r.id AS k, " if group else ""
            tail = " GROUP BY r.id" if group else ""
            return f"SELECT {chosen}COUNT(*) AS n, COMPLETENESS() AS c FROM {name} {draw(time_window())} r{draw(where(['r']))}{tail}"
        case 4:
            predicate = draw(
                st.sampled_from(
                    (
                        "r.kind = 'gauge'",
                        "r.zone > 1",
                        "distance(r.location, POINT(0.0, 0.0)) < 6",
                        "r.kind IS NULL",
                        "r.zone = r.x",
                    )
                )
            )
            values = draw(
                st.sampled_from(("COUNT(*) AS n, SUM(r.x) AS t", "r.id AS i, r.kind AS k, r.v AS v"))
            )
            return f"SELECT {values} FROM s {draw(window())} r WHERE {predicate}"
        case _:
            return (
                f"SELECT r.id AS i, r.kind AS k, r.x AS x FROM s r{draw(where(['r'], 'r.zone IS NOT NULL'))}"
            )


@st.composite
def union_query(draw: Any) -> str:
    """UNION of streams, of windows, of differences."""
    kind = ""
    streams = draw(st.booleans())
    if streams:
        one, other = (
            f"SELECT r.x AS n, r.name AS m FROM {draw(stream_source('r'))}{draw(where(['r']))}"
            for _ in range(2)
        )
    else:
        kind = draw(st.sampled_from(("", "ISTREAM ", "RSTREAM ")))
        one, other = (
            f"{kind}SELECT {draw(st.sampled_from(('r.x', 'r.v')))} AS n, r.name AS m "
            f"FROM {draw(windowed_source('r'))}{draw(where(['r']))}"
            for _ in range(2)
        )
    body = f"{one} UNION {other}"
    if draw(st.booleans()) or not (streams or kind):
        return body
    return f"SELECT COUNT(*) AS c, MAX(u.n) AS m FROM ({body}) {draw(window())} u"


@st.composite
def tail(draw: Any, columns: list[str], *, limited: bool | None = None) -> str:
    """ORDER BY and LIMIT, with ties and NULLs."""
    keys = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    words = ("", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " ASC NULLS LAST")
    order = ", ".join(f"{key}{draw(st.sampled_from(words))}" for key in keys)
    text = f" ORDER BY {order}" if order else ""
    if limited if limited is not None else (draw(st.booleans()) or not order):
        text += f" LIMIT {draw(st.integers(0, 4))}"
        text += f" OFFSET {draw(st.integers(0, 2))}" if not draw(st.integers(0, 2)) else ""
    return text


@st.composite
def ordered_query(draw: Any) -> str:
    """ORDER BY and LIMIT of windows, groups, tables and streams. Values are exact, so that the order is."""
    kind = draw(st.sampled_from(("", "", "RSTREAM ", "ISTREAM ", "DSTREAM ")))
    match draw(st.integers(0, 5)):
        case 0 | 1:
            chosen, source, filtered = draw(items(["r"])), draw(windowed_source("r")), draw(where(["r"]))
            keys = ["c1", "1", "r.name", "r.x % 2", "r.ok", "r.v", "r.time"]
            return f"{kind}SELECT {chosen} FROM {source}{filtered}{draw(tail(keys))}"
        case 2:
            key = draw(st.sampled_from(("r.id", "r.name", "r.x % 2")))
            values = draw(
                st.sampled_from(("COUNT(*) AS n, MAX(r.v) AS m", "SUM(r.x) AS n, MIN(r.name) AS m"))
            )
            having = " HAVING n > 1" if draw(st.booleans()) else ""
            body = f"{kind}SELECT {key} AS k, {values} FROM {draw(windowed_source('r'))} GROUP BY 1{having}"
            return body + draw(tail(["n", "k", "COUNT(*)", "3", "MAX(r.x) - 1"]))
        case 3:
            return f"SELECT t.k, t.label FROM t{draw(tail(['k', 'label', 't.weight', '2']))}"
        case 4:
            chosen, source = draw(items(["r"])), draw(stream_source("r"))
            count = f" LIMIT {draw(st.integers(0, 6))}"
            end = draw(st.sampled_from((count, " ORDER BY r.time", f" ORDER BY r.time{count} OFFSET 1")))
            table, link = draw(st.sampled_from((("", ()), (", t", ("r.x = t.k",)))))
            return f"SELECT {chosen} FROM {source}{table}{draw(where(['r'], *link))}{end}"
        case _:
            inner = (
                f"SELECT r.x AS n, r.name AS m FROM {draw(windowed_source('r'))}{draw(tail(['n', 'r.v']))}"
            )
            if draw(st.booleans()):
                return f"SELECT COUNT(*) AS c, MAX(q.n) AS m FROM ({inner}) q"
            return f"SELECT q.n, q.m FROM ({inner}) q WHERE q.n > 0{draw(tail(['q.m', '1']))}"


@st.composite
def set_query(draw: Any) -> str:
    """DISTINCT, EXCEPT, INTERSECT and UNION DISTINCT."""
    if not draw(st.integers(0, 2)):
        kind = draw(st.sampled_from(("", "", "ISTREAM ", "DSTREAM ")))
        order = draw(tail(["1"])) if draw(st.booleans()) else ""
        return f"{kind}SELECT DISTINCT {draw(items(['r']))} FROM {draw(windowed_source('r'))}{draw(where(['r']))}{order}"
    words = st.sampled_from(("EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL", "UNION DISTINCT", "UNION"))
    if not draw(st.integers(0, 5)):
        return f"SELECT t.k FROM t {draw(words)} VALUES (2), (NULL), (7){draw(tail(['1']))}"
    sides = [
        f"SELECT {draw(st.sampled_from(('r.x', 'r.v', 'r.id')))} AS n, r.ok AS m FROM {draw(windowed_source('r'))}"
        for _ in range(draw(st.integers(2, 3)))
    ]
    body = sides[0] + "".join(f" {draw(words)} {side}" for side in sides[1:])
    return body + (draw(tail(["n", "2"])) if draw(st.booleans()) else "")


@st.composite
def named_query(draw: Any) -> str:
    """WITH, read once or twice, and VALUES as a table."""
    rows = "(VALUES (1, 'one'), (2, NULL), (2, 'two')) AS l(k, label)"
    if draw(st.booleans()):
        inner = f"SELECT q.time, q.id, q.x, q.v, q.name, q.ok FROM {draw(st.sampled_from(STREAMS))} q{draw(where(['q']))}"
        one = f"SELECT {draw(aggregate(['r']))} AS c FROM w {draw(window())} r, w {draw(time_window())} o WHERE r.id = o.id"
        other = f"SELECT {draw(items(['r']))}, l.label FROM w r, {rows} WHERE r.x = l.k"
        return f"WITH w AS ({inner}) {draw(st.sampled_from((one, other)))}"
    inner = f"SELECT r.id, MAX(r.x), COUNT(*) FROM {draw(windowed_source('r'))} GROUP BY 1"
    join = f"SELECT p.i, p.m, o.n FROM w p, w o WHERE p.m {draw(st.sampled_from(('=', '<')))} o.m"
    other = f"SELECT w.i, w.n, l.label FROM w, {rows} WHERE w.n = l.k"
    return f"WITH w (i, m, n) AS ({inner}) {draw(st.sampled_from((join, other)))}"


@st.composite
def membership_query(draw: Any) -> str:
    """IN and EXISTS as values and under OR, tied by equalities and inequalities; values of one row."""
    source = f"{draw(st.sampled_from(STREAMS))} {draw(time_window())} q"
    tie = draw(st.sampled_from(("", " WHERE q.id = r.id", " WHERE q.name = r.name AND q.x > 0")))
    column = draw(st.sampled_from(("x", "v", "id")))
    member = f"r.x {draw(st.sampled_from(('IN', 'NOT IN')))} (SELECT q.{column} FROM {source}{tie})"
    exists = f"EXISTS (SELECT * FROM {source}{tie})"
    found = draw(st.sampled_from((member, exists, f"NOT {exists}")))
    outer = draw(windowed_source("r"))
    match draw(st.integers(0, 3)):
        case 0:
            return f"SELECT r.x AS c1, {found} AS c2 FROM {outer}"
        case 1:
            return f"SELECT r.x AS c1 FROM {outer} WHERE {found} OR {draw(condition(['r'], 0))}"
        case 2:
            link = draw(
                st.sampled_from(
                    ("q.x > r.x", "q.id = r.id AND q.v <= r.v", "q.x + r.x > 3", "q.name != r.name")
                )
            )
            negated = draw(st.sampled_from(("", "NOT ")))
            return f"SELECT r.id AS c1, r.x AS c2 FROM {outer} WHERE {negated}EXISTS (SELECT 1 FROM {source} WHERE {link})"
        case _:
            value = f"(SELECT q.{column} FROM {source}{draw(tail(['q.name', '1'], limited=False))} LIMIT 1)"
            return f"SELECT r.x AS c1, {value} AS c2 FROM {outer}"


@st.composite
def cases(draw: Any) -> Case:
    """A random query and random logs."""
    sql = draw(
        st.one_of(
            stream_query(),
            window_query(),
            window_query(),
            window_query(),
            join_query(),
            outer_join_query(),
            bounded_join_query(),
            asof_query(),
            special_query(),
            union_query(),
            ordered_query(),
            set_query(),
            named_query(),
            membership_query(),
        )
    )
    return Case(sql, {name: draw(readings()) for name in STREAMS})


@st.composite
def outer_join_cases(draw: Any) -> Case:
    """A random query with JOIN ... ON, and random logs."""
    return Case(draw(outer_join_query()), {name: draw(readings()) for name in STREAMS})
