"""Parses CREATE ALERT and CREATE DECISION, behind their names.

>>> from nilometer.language.cursor import Cursor
>>> parse_decision(Cursor("act ON boxes CHOOSE ('open' WHEN hazard, 'pass' OTHERWISE)"), 0).choices[1].action
'pass'
"""

from __future__ import annotations

from typing import Any

from nilometer.language import ast
from nilometer.language.cursor import INT, STRING, Cursor
from nilometer.language.parse_expressions import parse_expression
from nilometer.language.parse_queries import parse_query
from nilometer.language.parse_windows import parse_duration
from nilometer.language.vocabulary import TEMPLATES

_CLAUSES = {
    "DEBOUNCE": "debounce",
    "GROUP": "groups",
    "RESOLVE": "resolve",
    "REPEAT": "repeat",
    "SILENCE": "silence",
    "RETRIES": "retries",
    "TEMPLATE": "template",
}
_LABELS = {"GROUP": "GROUP BY", "RESOLVE": "RESOLVE AFTER", "REPEAT": "REPEAT EVERY"}


def parse_alert(cursor: Cursor, start: int) -> ast.CreateAlert:
    """`hot WHEN (SELECT ...) THEN 'https://...' GROUP BY id`; the clauses stand in any order, each once."""
    name = cursor.name("the alert's name")
    cursor.expect("WHEN")
    cursor.expect("(", "a query in parentheses")
    query = parse_query(cursor)
    cursor.expect(")")
    cursor.expect("THEN")
    address = cursor.string("an address in single quotes: 'https://...', 'mqtt://...' or 'mailto:...'")
    found: dict[str, Any] = {}
    while True:
        clause = next((key for key in _CLAUSES if cursor.accept(key, _LABELS.get(key))), None)
        if clause is None:
            break
        if _CLAUSES[clause] in found:
            cursor.refuse(
                f"{_LABELS.get(clause, clause)} stands twice", cursor.token.span, "keep one of them"
            )
        found[_CLAUSES[clause]] = _clause(cursor, clause)
    return ast.CreateAlert(name, query, address, **found, span=cursor.span_from(start))


def _clause(cursor: Cursor, clause: str) -> Any:
    match clause:
        case "GROUP":
            cursor.expect("BY")
            names = [cursor.name("a column's name")]
            while cursor.accept(","):
                names.append(cursor.name("a column's name"))
            return tuple(names)
        case "RETRIES":
            if cursor.token.kind is not INT:
                cursor.fail("how often a delivery is tried again", hint="write a whole number: RETRIES 5")
            return int(cursor.advance().text)
        case "SILENCE":
            return _silence(cursor)
        case "TEMPLATE":
            return _template(cursor)
        case "RESOLVE":
            cursor.expect("AFTER")
        case "REPEAT":
            cursor.expect("EVERY")
    return parse_duration(cursor)


def _silence(cursor: Cursor) -> ast.Silence:
    start = cursor.token.start
    if cursor.accept("FROM"):
        begin = cursor.string("a time in single quotes: '22:00', or '2026-11-18T22:00:00Z'")
        cursor.expect("TO")
        end = cursor.string("a time in single quotes: '06:00', or '2026-11-19T06:00:00Z'")
        return ast.Silence(None, begin, end, span=cursor.span_from(start))
    return ast.Silence(parse_duration(cursor), span=cursor.span_from(start))


def _template(cursor: Cursor) -> ast.Template:
    start = cursor.token.start
    if cursor.token.kind is STRING:
        return ast.Template(cursor.string(), span=cursor.span_from(start))
    cursor.expected.append("a text in single quotes")
    word = cursor.expect_any(*(name.upper() for name in TEMPLATES))
    return ast.Template(word.lower(), named=True, span=cursor.span_from(start))


def parse_decision(cursor: Cursor, start: int) -> ast.CreateDecision:
    """`act ON boxes CHOOSE (...)`, or `act ON (SELECT ...) CHOOSE (...)`."""
    name = cursor.name("the decision's name")
    cursor.expect("ON")
    source: str | ast.QueryNode
    if cursor.accept("(", "a query in parentheses"):
        source = parse_query(cursor)
        cursor.expect(")")
    else:
        source = cursor.name("the name of a query or stream")
    cursor.expect("CHOOSE")
    cursor.expect("(")
    choices: list[ast.DecisionChoice] = []
    while True:
        begin = cursor.token.start
        action = cursor.string("an action in single quotes")
        if cursor.accept("OTHERWISE"):
            choices.append(ast.DecisionChoice(action, span=cursor.span_from(begin)))
            break
        cursor.expect("WHEN")
        condition = parse_expression(cursor)
        choices.append(ast.DecisionChoice(action, condition, span=cursor.span_from(begin)))
        if not cursor.accept(","):
            break
    if cursor.at(",") and choices[-1].condition is None:
        cursor.refuse("OTHERWISE comes last", choices[-1].span, "put the other choices before it")
    cursor.expect(")")
    return ast.CreateDecision(name, source, tuple(choices), span=cursor.span_from(start))
