"""Parses the keys of GROUP BY: expressions, and the sets that ROLLUP, CUBE and GROUPING SETS make of them.

ROLLUP and CUBE are shorthands, so the tree has one node for all of them. Several of them, and plain keys beside
them, are multiplied: `a, ROLLUP(b)` is `GROUPING SETS ((a, b), (a))`.

>>> from nilometer.language.cursor import Cursor
>>> parse_group_by(Cursor("site, ROLLUP(id)"))[0].sets
((Name(parts=('site',)), Name(parts=('id',))), (Name(parts=('site',)),))
"""

from __future__ import annotations

from itertools import combinations

from nilometer.language import ast
from nilometer.language.cursor import END, Cursor
from nilometer.language.parse_expressions import parse_expression, parse_expressions

Keys = tuple[ast.Expression, ...]

MOST_SETS = 64


def parse_group_by(cursor: Cursor) -> Keys:
    """The keys; with sets of them, one `GroupingSets`."""
    start = cursor.token.start
    sets: list[Keys] = [()]
    combined = False
    while True:
        found = _sets(cursor)
        combined |= found is not None
        if found is None:
            found = [_keys(cursor) if _is_enclosed(cursor) else (parse_expression(cursor),)]
        sets = [one + other for one in sets for other in found]
        _check_number(cursor, len(sets), start)
        if not cursor.accept(","):
            break
    if cursor.at("WITH") and cursor.peek().key in ("ROLLUP", "CUBE"):
        cursor.advance()
        keys: list[Keys] = [(key,) for key in sets[0]]
        sets = _rolled(keys) if cursor.advance().key == "ROLLUP" else _cubed(cursor, keys, start)
        combined = True
    return (ast.GroupingSets(tuple(sets), span=cursor.span_from(start)),) if combined else sets[0]


def _sets(cursor: Cursor) -> list[Keys] | None:
    """The sets of a ROLLUP, CUBE or GROUPING SETS that begins here; None, with nothing taken, for anything else."""
    start = cursor.token.start
    if cursor.at("ROLLUP", "CUBE") and cursor.peek().key == "(":
        word = cursor.advance().key
        cursor.expect("(")
        parts = [_keys(cursor)]
        while cursor.accept(","):
            parts.append(_keys(cursor))
        cursor.expect(")")
        return _rolled(parts) if word == "ROLLUP" else _cubed(cursor, parts, start)
    if not (cursor.at("GROUPING") and cursor.peek().key == "SETS"):
        return None
    cursor.advance()
    cursor.advance()
    cursor.expect("(")
    sets: list[Keys] = []
    while True:
        sets += _sets(cursor) or [_keys(cursor)]
        _check_number(cursor, len(sets), start)
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return sets


def _keys(cursor: Cursor) -> Keys:
    """`(a, b)`, `()` or one expression."""
    if not _is_enclosed(cursor):
        return (parse_expression(cursor),)
    cursor.expect("(")
    keys = () if cursor.at(")") else parse_expressions(cursor)
    cursor.expect(")")
    return keys


def _is_enclosed(cursor: Cursor) -> bool:
    """Whether parentheses enclose all keys up to the next comma, as in `(a, b), c` and not in `(a + b) * 2`."""
    if not cursor.at("(") or cursor.peek().key == "SELECT":
        return False
    depth, distance = 1, 0
    while depth:
        distance += 1
        token = cursor.peek(distance)
        if token.kind is END:
            return False
        depth += {"(": 1, ")": -1}.get(token.key, 0)
    behind = cursor.peek(distance + 1)
    return behind.kind is END or behind.key in (
        *(",", ")", ";", "HAVING", "FILL", "QUALIFY", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT"),
    )


def _rolled(parts: list[Keys]) -> list[Keys]:
    """All parts, all but the last, and so on, to none."""
    return [sum(parts[:count], ()) for count in range(len(parts), -1, -1)]


def _cubed(cursor: Cursor, parts: list[Keys], start: int) -> list[Keys]:
    """Every choice of parts, the larger ones first."""
    _check_number(cursor, 2 ** len(parts), start)
    return [sum(chosen, ()) for count in range(len(parts), -1, -1) for chosen in combinations(parts, count)]


def _check_number(cursor: Cursor, count: int, start: int) -> None:
    if count > MOST_SETS:
        cursor.refuse(
            f"more than {MOST_SETS} sets of groups",
            cursor.span_from(start),
            "name those that you need: GROUPING SETS ((a, b), (a), ())",
        )
