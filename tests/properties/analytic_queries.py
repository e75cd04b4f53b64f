"""Hypothesis strategies: random queries with OVER, over windows, groups and streams."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from properties.random_expressions import any_value, number, where
from properties.random_queries import (
    STREAMS,
    Case,
    readings,
    seconds,
    stream_source,
    time_window,
    window,
    windowed_source,
)

PARTITIONS = (
    "",
    "PARTITION BY r.id ",
    "PARTITION BY r.x ",
    "PARTITION BY r.name, r.ok ",
    "PARTITION BY r.x % 2 ",
)
NUMERIC = ("SUM", "AVG", "STDEV", "VARIANCE", "STDDEV_POP", "MEDIAN")
PLACES = ("ROW_NUMBER()", "RANK()", "DENSE_RANK()")


@st.composite
def order(draw: Any) -> str:
    """An ORDER BY of one to three values."""
    values = draw(
        st.lists(st.sampled_from(("r.x", "r.v", "r.name", "r.time", "r.ok", "-r.x")), min_size=1, max_size=3)
    )
    ends = [draw(st.sampled_from(("", " DESC", " NULLS LAST", " DESC NULLS FIRST"))) for _ in values]
    return "ORDER BY " + ", ".join(value + end for value, end in zip(values, ends, strict=True))


@st.composite
def rows_frame(draw: Any) -> str:
    """A frame of rows."""
    start = draw(st.integers(-4, 3))
    ends = [draw(st.integers(start, 4)), None]
    first = "UNBOUNDED PRECEDING" if not draw(st.integers(0, 3)) else _bound(start)
    end = draw(st.sampled_from(ends))
    last = "UNBOUNDED FOLLOWING" if end is None else _bound(end)
    return f"ROWS BETWEEN {first} AND {last}"


def _bound(end: int, unit: str = "") -> str:
    return "CURRENT ROW" if not end else f"{abs(end)}{unit} {'PRECEDING' if end < 0 else 'FOLLOWING'}"


@st.composite
def range_order_and_frame(draw: Any) -> str:
    """An ORDER BY of one number or time, and a RANGE of it."""
    column, unit = draw(st.sampled_from((("r.x", ""), ("r.v", ""), ("r.time", " SECONDS"))))
    end = draw(st.sampled_from(("", " DESC", " NULLS LAST", " DESC NULLS FIRST")))
    start = draw(st.integers(-3, 2))
    first = "UNBOUNDED PRECEDING" if not draw(st.integers(0, 3)) else _bound(start, unit)
    stop = draw(st.integers(start, 3))
    last = "UNBOUNDED FOLLOWING" if not draw(st.integers(0, 3)) else _bound(stop, unit)
    return f"ORDER BY {column}{end} RANGE BETWEEN {first} AND {last}"


@st.composite
def framed_function(draw: Any) -> str:
    """An aggregate or a value of a frame."""
    function = draw(
        st.sampled_from((*NUMERIC, "MIN", "MAX", "COUNT", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"))
    )
    if function in NUMERIC:
        return f"{function}({draw(number(['r'], 1))})"
    if function == "COUNT" and draw(st.booleans()):
        return "COUNT(*)"
    argument = draw(st.sampled_from(("r.x", "r.v", "r.name", "r.ok", "r.time")))
    return f"{function}({argument}{', 2' if function == 'NTH_VALUE' else ''})"


@st.composite
def over(draw: Any) -> str:
    """A function over the rows of a window."""
    partition = draw(st.sampled_from(PARTITIONS))
    match draw(st.integers(0, 4)):
        case 0:
            return f"{draw(st.sampled_from((*PLACES, 'NTILE(3)')))} OVER ({partition}{draw(order())})"
        case 1:
            function = draw(st.sampled_from(("LAG", "LEAD")))
            extra = draw(st.sampled_from(("", ", 2", ", 1, r.x + 1")))
            return f"{function}(r.x{extra}) OVER ({partition}{draw(order())})"
        case 2:
            return f"{draw(framed_function())} OVER ({partition}{draw(range_order_and_frame())})"
        case 3:
            return f"{draw(framed_function())} OVER ({partition}{draw(order())} {draw(rows_frame())})"
        case _:
            tail = draw(st.sampled_from(("", "order")))
            return f"{draw(framed_function())} OVER ({partition}{draw(order()) if tail else ''})"


@st.composite
def running(draw: Any) -> str:
    """A function over a stream."""
    partition = draw(st.sampled_from(PARTITIONS))
    match draw(st.integers(0, 3)):
        case 0:
            return f"{draw(st.sampled_from(PLACES))} OVER ({partition}ORDER BY r.time)"
        case 1:
            function = draw(st.sampled_from(("LAG(r.name)", "LAG(r.x, 2, 7)", "DELTA(r.v)", "RATE(r.x)")))
            return f"{function} OVER ({partition}ORDER BY r.time)"
        case _:
            frame = draw(
                st.sampled_from(
                    (
                        "",
                        " ROWS UNBOUNDED PRECEDING",
                        f" ROWS {draw(st.integers(0, 3))} PRECEDING",
                        " ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
                        f" RANGE {draw(seconds)} SECONDS PRECEDING",
                        " RANGE BETWEEN 4 SECONDS PRECEDING AND 1 SECOND PRECEDING",
                    )
                )
            )
            function = draw(framed_function())
            if function.startswith("MEDIAN") and frame in ("", " ROWS UNBOUNDED PRECEDING"):
                frame = " ROWS 2 PRECEDING"  # all tuples of a stream are not kept for it
            return f"{function} OVER ({partition}ORDER BY r.time{frame})"


@st.composite
def last_of_each(draw: Any) -> str:
    """LATEST and RESAMPLE."""
    name = draw(st.sampled_from(STREAMS))
    if draw(st.booleans()):
        slide = draw(seconds)
        spec = draw(
            st.sampled_from(
                (
                    "UNBOUNDED",
                    f"RANGE {draw(seconds)} SECONDS",
                    "FROM NOW - 5 SECONDS TO NOW - 2 SECONDS",
                    "NOW",
                )
            )
        )
        chosen = draw(st.sampled_from(("", ", x", ", name, v")))
        source = f"LATEST({name}{chosen}) [{spec} SLIDE {slide} SECONDS] r"
    else:
        fill = draw(st.sampled_from(("", " FILL NULL", " FILL PREVIOUS", " FILL LINEAR")))
        chosen = ", x, v" if fill == " FILL LINEAR" else draw(st.sampled_from(("", ", x", ", name, ok")))
        within = draw(st.sampled_from(("", " WITHIN 3 SECONDS")))
        source = (
            f"RESAMPLE({name}{chosen} EVERY {draw(st.integers(1, 9)) * 500} MILLISECONDS{fill}{within}) r"
        )
        if draw(st.booleans()):
            return f"SELECT COUNT(*) AS n, MAX(r.id) AS i FROM {source.removesuffix(' r')} {draw(time_window())} r"
    return (
        f"SELECT * FROM {source}" if draw(st.booleans()) else f"SELECT r.id AS i, r.time AS t FROM {source}"
    )


@st.composite
def analytic_query(draw: Any) -> str:
    """A query with OVER, LATEST or RESAMPLE."""
    match draw(st.integers(0, 8)):
        case 6 | 7:
            return draw(last_of_each())
        case 8:
            key = draw(st.sampled_from(("r.id", "r.name", "r.x, r.ok")))
            more = draw(st.sampled_from(("", ", DELTA(COUNT(*)) AS d", ", LAG(MAX(r.x), 2) AS d")))
            fill = draw(
                st.sampled_from(("", " FILL(NULL)", " FILL(PREVIOUS)", " HAVING COUNT(*) > 1 FILL(PREVIOUS)"))
            )
            source = draw(windowed_source("r"))
            return f"SELECT {key}, COUNT(*) AS n, MAX(r.v) AS m{more} FROM {source}{draw(where(['r']))} GROUP BY {key}{fill}"
        case 0 | 1:
            values = [draw(any_value(["r"])), *draw(st.lists(over(), min_size=1, max_size=2))]
            chosen = ", ".join(f"{value} AS c{n}" for n, value in enumerate(values, 1))
            kind = draw(st.sampled_from(("", "", "ISTREAM ")))
            return f"{kind}SELECT {chosen} FROM {draw(windowed_source('r'))}{draw(where(['r']))}"
        case 2:
            inner = f"SELECT r.id AS i, r.x AS x, {draw(over())} AS n FROM {draw(windowed_source('r'))}"
            return f"SELECT q.i, q.n FROM ({inner}) q WHERE q.n IS NOT NULL AND q.x > 0"
        case 3:
            key = draw(st.sampled_from(("r.id", "r.name", "r.x")))
            total = draw(st.sampled_from(("SUM(r.x)", "COUNT(*)", "MAX(r.v)")))
            place = draw(st.sampled_from(PLACES))
            return (
                f"SELECT {key} AS k, {total} AS t, {place} OVER (ORDER BY {total} DESC) AS n,"
                f" SUM(COUNT(*)) OVER (ORDER BY {key}) AS s FROM {draw(windowed_source('r'))} GROUP BY {key}"
            )
        case _:
            values = [draw(any_value(["r"])), *draw(st.lists(running(), min_size=1, max_size=2))]
            chosen = ", ".join(f"{value} AS c{n}" for n, value in enumerate(values, 1))
            body = f"SELECT {chosen} FROM {draw(stream_source('r'))}{draw(where(['r']))}"
            if draw(st.booleans()):
                return body
            return f"SELECT COUNT(*) AS n, COUNT(j.c2) AS m FROM ({body}) {draw(window())} j"


@st.composite
def analytic_cases(draw: Any) -> Case:
    """A random query with OVER and random logs."""
    return Case(draw(analytic_query()), {name: draw(readings()) for name in STREAMS})
