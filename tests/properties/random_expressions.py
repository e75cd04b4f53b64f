"""Hypothesis strategies: random expressions, as text, over the columns of random_queries."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

COLUMNS = {"x": "INT", "id": "INT", "v": "FLOAT", "name": "STRING", "ok": "BOOLEAN", "time": "TIME"}

sixty_fourths = st.integers(-256, 256).map(lambda n: n / 64)


@st.composite
def number(draw: Any, aliases: list[str], depth: int = 2, *, floats: bool = True) -> str:
    """A numeric expression over the aliases' columns."""
    alias = draw(st.sampled_from(aliases))
    leaves = [f"{alias}.x", f"{alias}.id", str(draw(st.integers(-4, 7)))]
    if floats:
        leaves += [f"{alias}.v", repr(draw(sixty_fourths))]
    if depth == 0 or draw(st.integers(0, 2)):
        return draw(st.sampled_from(leaves))
    left = draw(number(aliases, depth - 1, floats=floats))
    right = draw(number(aliases, depth - 1, floats=floats))
    form = draw(st.integers(0, 6))
    if form <= 3:
        return f"({left} {draw(st.sampled_from(('+', '-', '*', '/', '%')))} {right})"
    if form == 4:
        return f"{draw(st.sampled_from(('abs', 'sign', 'floor', 'round')))}({left})"
    if form == 5:
        return f"CASE WHEN {draw(condition(aliases, 0))} THEN {left} ELSE {right} END"
    return f"{draw(st.sampled_from(('least', 'greatest', 'coalesce')))}({left}, {right})"


@st.composite
def condition(draw: Any, aliases: list[str], depth: int = 2) -> str:
    """A condition over the aliases' columns."""
    alias = draw(st.sampled_from(aliases))
    if depth and not draw(st.integers(0, 2)):
        left, right = draw(condition(aliases, depth - 1)), draw(condition(aliases, depth - 1))
        word = draw(st.sampled_from(("AND", "OR", "NOT")))
        return f"NOT ({left})" if word == "NOT" else f"({left} {word} {right})"
    operator = draw(st.sampled_from(("=", "!=", "<", "<=", ">", ">=")))
    form = draw(st.integers(0, 8))
    match form:
        case 0 | 1 | 2:
            left = draw(number(aliases, min(depth, 1)))
            return f"{left} {operator} {draw(number(aliases, 0))}"
        case 3:
            return f"{alias}.{draw(st.sampled_from(tuple(COLUMNS)))} IS {draw(st.sampled_from(('', 'NOT ')))}NULL"
        case 4:
            return f"{alias}.name {draw(st.sampled_from(('=', '<', '>=')))} {draw(st.sampled_from(_NAMES))}"
        case 5:
            return f"{alias}.name {draw(st.sampled_from(('', 'NOT ')))}LIKE '{draw(st.sampled_from(('b%', '_ed', '%', '')))}'"
        case 6:
            items = draw(
                st.lists(st.sampled_from(("1", "2", "3", "0.5", "NULL", "-1")), min_size=1, max_size=3)
            )
            return f"{alias}.x {draw(st.sampled_from(('', 'NOT ')))}IN ({', '.join(items)})"
        case 7:
            return f"{alias}.x BETWEEN {draw(st.integers(-3, 2))} AND {draw(st.integers(0, 5))}"
        case _:
            return f"{alias}.ok"


_NAMES = ("'red'", "'blue'", "''")


@st.composite
def any_value(draw: Any, aliases: list[str]) -> str:
    """An expression of any type."""
    alias = draw(st.sampled_from(aliases))
    if draw(st.booleans()):
        return f"{alias}.{draw(st.sampled_from(tuple(COLUMNS)))}"
    if not draw(st.integers(0, 3)):
        return draw(scalar(aliases))
    return (
        draw(number(aliases))
        if draw(st.integers(0, 3))
        else f"CASE WHEN {draw(condition(aliases, 1))} THEN 1 END"
    )


SCALARS = (
    "{a}.name || '-' || {n}",
    "TRY_CAST({a}.name AS INT)",
    "{n}::STRING",
    "{a}.v::INT",
    "CAST({c} AS INT)",
    "round({n}, 1)",
    "trunc({a}.v)",
    "substring({a}.name, {a}.x, 2)",
    "left({a}.name, {a}.x)",
    "split_part({a}.name, 'e', {a}.x)",
    "strpos({a}.name, 'e')",
    "replace({a}.name, 'e', 'ee')",
    "lpad({a}.name, 5, '%')",
    "regexp_replace({a}.name, '[a-d]', '#', 'g')",
    "regexp_extract({a}.name, '(b)(l|%)', 2)",
    "format('{{}} {{:.1f}}', {a}.ok, {a}.v)",
    "({c}) IS TRUE",
    "{a}.x IS DISTINCT FROM {a}.id",
    "nullif({a}.x, {a}.id)",
    "if({c}, {a}.name, 'none')",
    "to_char(to_timestamp({a}.x), 'DD HH24:MI:SS')",
    "date_trunc('day', to_timestamp({a}.v), 'Europe/Zurich')",
    "EXTRACT(hour FROM to_timestamp({a}.x) AT TIME ZONE 'Asia/Kathmandu')",
)
"""Forms over an alias {a}, a whole number {n} and a condition {c}; none can fail."""


@st.composite
def scalar(draw: Any, aliases: list[str]) -> str:
    """A call of one of the scalar functions."""
    form = draw(st.sampled_from(SCALARS))
    whole = draw(number(aliases, 0, floats=False))
    return form.format(a=draw(st.sampled_from(aliases)), n=whole, c=draw(condition(aliases, 0)))


@st.composite
def items(draw: Any, aliases: list[str], least: int = 1, most: int = 3) -> str:
    """A select list of values, with names."""
    values = draw(st.lists(any_value(aliases), min_size=least, max_size=most))
    return ", ".join(f"{value} AS c{n}" for n, value in enumerate(values, 1))


@st.composite
def where(draw: Any, aliases: list[str], *extra: str) -> str:
    """WHERE or nothing."""
    parts = list(extra)
    if draw(st.booleans()):
        parts.append(draw(condition(aliases)))
    return f" WHERE {' AND '.join(f'({part})' if 'OR' in part else part for part in parts)}" if parts else ""
