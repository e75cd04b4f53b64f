"""Query text -> syntax tree.

Law: `parse(print_statement(tree)) == tree`; for any text, QuerySyntaxError is the only error.

>>> parse("SELECT depth FROM river [NOW];").sources
(ExtentSource(name='river', window=NowWindow(slide=None), alias=None),)
"""

from __future__ import annotations

from nilometer.errors import QuerySyntaxError
from nilometer.language import ast
from nilometer.language.cursor import END, Cursor
from nilometer.language.parse_expressions import parse_expression as _expression
from nilometer.language.parse_statements import parse_statement
from nilometer.language.walk import height

# `a OR b OR ...` nests to the left without nesting in the text. Every later pass recurses over the tree, and
# even `==` on it takes three of Python's 1,000 levels per node.
MAXIMUM_HEIGHT = 200

END_LABEL = "the end of the text"


def parse(text: str) -> ast.Statement | ast.QueryNode:
    """The one statement of the text; a semicolon may end it."""
    cursor = Cursor(text)
    if cursor.token.kind is END:
        raise QuerySyntaxError("the text is empty", hint="write a query, such as SELECT * FROM river").at(
            text, None
        )
    statement = parse_statement(cursor)
    if cursor.accept(";"):
        while cursor.accept(";"):
            pass
        if cursor.token.kind is not END:
            cursor.refuse(
                "more than one statement",
                cursor.token.span,
                "give one statement at a time, or run the text as a script",
            )
    if cursor.token.kind is not END:
        cursor.fail(END_LABEL)
    _refuse_too_high(cursor, statement)
    return statement


def parse_script(text: str) -> tuple[ast.Statement | ast.QueryNode, ...]:
    """All statements of the text, separated by semicolons; none if the text is empty."""
    cursor = Cursor(text)
    statements: list[ast.Statement | ast.QueryNode] = []
    while True:
        while cursor.accept(";"):
            pass
        if cursor.token.kind is END:
            return tuple(statements)
        statement = parse_statement(cursor)
        if not cursor.at(";") and cursor.token.kind is not END:
            cursor.fail("';'", END_LABEL)
        _refuse_too_high(cursor, statement)
        statements.append(statement)


def parse_expression(text: str) -> ast.Expression:
    """Parses a text that is one expression."""
    cursor = Cursor(text)
    expression = _expression(cursor)
    if cursor.token.kind is not END:
        cursor.fail(END_LABEL)
    _refuse_too_high(cursor, expression)
    return expression


def _refuse_too_high(cursor: Cursor, tree: ast.Node) -> None:
    """Refuses a tree with too many levels.

    A tree has at most as many levels as tokens (a chain a = b = c has one more), so most trees need no check.
    """
    if len(cursor.tokens) >= MAXIMUM_HEIGHT and height(tree) > MAXIMUM_HEIGHT:
        cursor.refuse(
            f"the expression is too long: more than {MAXIMUM_HEIGHT} operators in a row",
            tree.span,
            "write `id = 1 OR id = 2 OR ...` as `id IN (1, 2, ...)`, or split the query",
        )
