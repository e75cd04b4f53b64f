"""Parses the definition of a phenomenon: `ON air.pm25 ABOVE 35 RANGE 3 HOURS MEMBERS 3 [WHERE condition]`.

>>> from nilometer.language.cursor import Cursor
>>> parse_definition(Cursor("ON air.pm25 ABOVE 35 RANGE 3 HOURS")).column
'pm25'
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra.table_functions.phenomena import AHEAD, DEFINITION, GUIDE, REACH
from nilometer.language import ast
from nilometer.language.cursor import Cursor
from nilometer.language.parse_expressions import parse_expression
from nilometer.language.parse_options import in_declared_order, parse_options
from nilometer.language.phenomenon_slips import slip

_BEFORE_WHERE = (
    "RANGE",
    "SLIDE",
    "STRENGTH",
    "NEIGHBOURS",
    "MEMBERS",
    "CONTINUE",
    "REGION",
    "BUFFER",
    "LOCATED",
)


def parse_definition(cursor: Cursor) -> ast.PhenomenonSource:
    """The definition from ON to its end."""
    start = cursor.expect("ON").start
    extent = cursor.name("a stream")
    if not cursor.at("."):
        cursor.fail("'.'", hint="name the stream and its column, such as air.pm25")
    cursor.expect(".")
    column = cursor.name("the column of the readings")
    settings = parse_options(cursor, DEFINITION)
    hint = slip(cursor, settings[-1].word if settings else None)
    if hint is not None:
        cursor.refuse(f"'{cursor.token.text}' is no option of a phenomenon", cursor.token.span, hint)
    condition = parse_expression(cursor) if cursor.accept("WHERE") else None
    if condition is not None and cursor.at(*_BEFORE_WHERE):
        cursor.refuse(
            f"WHERE stands before {cursor.token.key}",
            cursor.token.span,
            "WHERE comes behind the other options: ABOVE 35 RANGE 3 HOURS WHERE pm25 < 900",
        )
    if condition is not None and cursor.at("GUIDE"):
        settings += parse_options(cursor, replace(DEFINITION, options=(GUIDE, AHEAD, REACH)))
    return ast.PhenomenonSource(
        extent, column, in_declared_order(DEFINITION, settings), condition, span=cursor.span_from(start)
    )
