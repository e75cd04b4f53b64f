"""Hypothesis strategies: random queries with LATEST, RESAMPLE, UNNEST in FROM, DISTINCT ON, calls that go through windows,
shares, named windows, FILL behind brackets, windows in GROUP BY, ASOF INNER, and whole streams in joins and subqueries."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from properties.random_expressions import where
from properties.random_queries import (
    STREAMS,
    Case,
    aggregate,
    readings,
    seconds,
    stream_source,
    tail,
    time_window,
    windowed_source,
)

ACROSS = (
    "LAG(SUM(r.x)) OVER (PARTITION BY {key} ORDER BY {by})",
    "LAG(COUNT(*), 2, 0) OVER (PARTITION BY {key} ORDER BY {by})",
    "SUM(COUNT(*)) OVER (PARTITION BY {key} ORDER BY {by})",
    "MAX(MAX(r.x)) OVER (PARTITION BY {key} ORDER BY {by} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "FIRST_VALUE(MIN(r.x)) OVER (PARTITION BY {key} ORDER BY {by})",
    "ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {by})",
    "DELTA(COUNT(*)) OVER (PARTITION BY {key} ORDER BY {by})",
)
"""Calls through windows. Each group has a row in an evaluation at most, so that the order is of the windows alone."""


@st.composite
def group_window(draw: Any) -> tuple[str, str]:
    """A window of SQL over a stream `r`, and a column that orders its evaluations."""
    name = draw(st.sampled_from(STREAMS))
    step = draw(seconds)
    by = draw(st.sampled_from(("r.window_start", "r.window_end")))
    match draw(st.integers(0, 3)):
        case 0:
            return f"TUMBLE({name}, {step} SECONDS) r", by
        case 1:
            return f"HOP({name}, {step} SECONDS, {draw(seconds)} SECONDS, OFFSET 1 SECOND) r", by
        case 2:
            return f"CUMULATE({name}, {step} SECONDS, {step * 3} SECONDS) r", "r.window_end"
        case _:
            return f"SESSION({name}, {step} SECONDS) r", by


@st.composite
def across_windows(draw: Any) -> str:
    """Calls with OVER that go from window to window."""
    source, by = draw(group_window())
    call = draw(st.sampled_from(ACROSS)).format(key="r.id", by=by)
    keys = "r.id, r.window_start, r.window_end"
    ordered = draw(st.sampled_from(("", f" ORDER BY {by}, n DESC")))
    return f"SELECT {keys}, COUNT(*) AS n, {call} AS c FROM {source}{draw(where(['r']))} GROUP BY {keys}{ordered}"


@st.composite
def latest_or_resampled(draw: Any) -> str:
    """LATEST and RESAMPLE, alone and under aggregates."""
    name = draw(st.sampled_from(STREAMS))
    if draw(st.booleans()):
        window = f"[RANGE {draw(seconds)} SECONDS SLIDE {draw(seconds)} SECONDS]"
        if draw(st.booleans()):
            return f"SELECT r.id, r.x, r.time FROM LATEST({name}) {window} r{draw(where(['r']))}"
        return f"SELECT {draw(aggregate(['r']))} AS c FROM LATEST({name}) {window} r"
    fill = draw(st.sampled_from(("", " FILL NULL", " FILL PREVIOUS", " FILL LINEAR")))
    within = draw(st.sampled_from(("", f" WITHIN {draw(seconds)} SECONDS")))
    source = f"RESAMPLE({name}, x, v EVERY {draw(seconds)} SECONDS{fill}{within})"
    if draw(st.booleans()):
        return f"SELECT r.time, r.id, r.x, r.v FROM {source} r"
    return f"SELECT COUNT(*) AS n, SUM(r.v) AS c FROM {source} {draw(time_window())} r"


@st.composite
def unnested(draw: Any) -> str:
    """UNNEST in FROM, with and without the list beside its elements."""
    inner = f"SELECT r.id, ARRAY_AGG(r.x) AS l, COUNT(*) AS n FROM {draw(windowed_source('r'))} GROUP BY r.id"
    outer = draw(
        st.sampled_from(
            (
                "SELECT q.id, q.n, u FROM",
                "SELECT q.id, q.l, u FROM",
                "SELECT u, COUNT(*) AS c, SUM(q.n) AS m FROM",
            )
        )
    )
    grouped = " GROUP BY u" if "COUNT" in outer else ""
    condition = draw(st.sampled_from(("", " WHERE u > 0", " WHERE u IS NULL OR q.n > 1")))
    return f"{outer} ({inner}) q, UNNEST(q.l) AS t(u){condition}{grouped}"


@st.composite
def first_or_share(draw: Any) -> str:
    """DISTINCT ON, PERCENT_RANK and CUME_DIST, named windows, QUALIFY, IGNORE NULLS."""
    source = draw(windowed_source("r"))
    key = draw(st.sampled_from(("r.id", "r.name", "r.ok")))
    if not draw(st.integers(0, 2)):
        function = draw(st.sampled_from(("LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE")))
        call = f"{function}(r.x) IGNORE NULLS OVER (PARTITION BY {key} ORDER BY r.time, r.v)"
        kept = draw(st.sampled_from(("c1 > 0", f"{call} IS NULL", "RANK() OVER (ORDER BY r.x) < 3")))
        return f"SELECT {key} AS k, {call} AS c1 FROM {source}{draw(where(['r']))} QUALIFY {kept}"
    if draw(st.booleans()):
        order = draw(st.sampled_from(("r.x", "r.v DESC", "r.x DESC NULLS FIRST, r.v", "r.time DESC")))
        return f"SELECT DISTINCT ON ({key}) {key} AS k, r.x AS c1, r.v AS c2 FROM {source}{draw(where(['r']))} ORDER BY {key}, {order}"
    share = draw(st.sampled_from(("PERCENT_RANK()", "CUME_DIST()", "RANK()", "COUNT(*)")))
    return (
        f"SELECT {key} AS k, r.x AS c1, {share} OVER w AS c2, ROW_NUMBER() OVER w AS c3 FROM {source}{draw(where(['r']))}"
        f" WINDOW w AS (PARTITION BY {key} ORDER BY r.x, r.v)"
    )


@st.composite
def filled_or_changed(draw: Any) -> str:
    """FILL behind windows in brackets; LAG, DELTA and RATE of groups."""
    window = f"[RANGE {draw(seconds)} SECONDS SLIDE {draw(seconds)} SECONDS]"
    source = f"{draw(st.sampled_from(STREAMS))} {window} r{draw(where(['r']))}"
    if draw(st.booleans()):
        fill = draw(st.sampled_from(("FILL(NULL)", "FILL(PREVIOUS)")))
        return f"SELECT r.id, {draw(aggregate(['r']))} AS c FROM {source} GROUP BY r.id {fill}"
    call = draw(st.sampled_from(("DELTA(SUM(r.x))", "LAG(COUNT(*))", "RATE(COUNT(*))", "LAG(MAX(r.v), 2)")))
    return f"SELECT r.id, COUNT(*) AS n, {call} AS c FROM {source} GROUP BY r.id"


@st.composite
def in_group_by(draw: Any) -> str:
    """The older spelling: a window in GROUP BY."""
    name, key = draw(st.sampled_from(STREAMS)), draw(st.sampled_from(("id", "name")))
    step = draw(seconds)
    kind, lengths = draw(
        st.sampled_from(
            (
                ("TUMBLE", f"{step} SECONDS"),
                ("HOP", f"{step} SECONDS, {draw(seconds)} SECONDS"),
                ("CUMULATE", f"{step} SECONDS, {2 * step} SECONDS"),
                ("SESSION", f"{step} SECONDS"),
            )
        )
    )
    window = f"(r.time, {lengths})"
    return (
        f"SELECT r.{key}, {kind}_START{window} AS s, {kind}_END{window} AS e, {draw(aggregate(['r']))} AS c"
        f" FROM {name} r{draw(where(['r']))} GROUP BY r.{key}, {kind}{window}"
    )


@st.composite
def asof_inner(draw: Any) -> str:
    """ASOF INNER JOIN, with the inequality that other databases want."""
    order = draw(st.sampled_from(("", " AND r.time >= q.time", " AND q.time <= r.time")))
    kind = draw(st.sampled_from(("INNER", "LEFT")))
    return (
        f"SELECT r.x AS c1, q.v AS c2, q.time AS c3 FROM {draw(stream_source('r'))} ASOF {kind} JOIN"
        f" {draw(stream_source('q'))} ON r.id = q.id{order}{draw(where(['r', 'q']))}"
    )


@st.composite
def over_whole_streams(draw: Any) -> str:
    """Streams at hand, read as tables."""
    one, other = draw(st.sampled_from(STREAMS)), draw(st.sampled_from(STREAMS))
    match draw(st.integers(0, 4)):
        case 0:
            kind = draw(st.sampled_from(("LEFT", "RIGHT", "FULL", "INNER")))
            return (
                f"SELECT r.x AS c1, q.v AS c2 FROM {one} r {kind} JOIN {other} q ON r.id = q.id AND r.x < q.x"
            )
        case 1:
            word = draw(st.sampled_from(("EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")))
            return f"SELECT r.x AS c FROM {one} r {word} SELECT q.x FROM {other} q"
        case 2:
            negated = draw(st.sampled_from(("", "NOT ")))
            return f"SELECT r.id, r.x FROM {one} r WHERE {negated}EXISTS (SELECT 1 FROM {other} q WHERE q.id = r.id AND q.x > r.x)"
        case 3:
            return f"SELECT r.x AS c FROM {one} r WHERE r.x > 2 OR r.id IN (SELECT q.id FROM {other} q WHERE q.x < 0)"
        case _:
            order = draw(tail(["k", "n"]))
            return f"SELECT r.name AS k, COUNT(*) AS n, {draw(aggregate(['r']))} AS c FROM {one} r GROUP BY 1{order}"


@st.composite
def newer_cases(draw: Any) -> Case:
    """A random query and random logs."""
    sql = draw(
        st.one_of(
            across_windows(),
            latest_or_resampled(),
            unnested(),
            first_or_share(),
            filled_or_changed(),
            in_group_by(),
            asof_inner(),
            over_whole_streams(),
        )
    )
    return Case(sql, {name: draw(readings()) for name in STREAMS})
