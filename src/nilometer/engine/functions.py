"""CREATE FUNCTION -> an entry of the catalog; whether its code is there is asked in a worker process."""

from __future__ import annotations

import re
from typing import NoReturn

from nilometer.catalog import functions
from nilometer.catalog.catalog import FunctionDefinition
from nilometer.engine.declare import column_of
from nilometer.errors import CatalogError
from nilometer.language import ast
from nilometer.types import Kind

REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
KINDS = (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME, Kind.VECTOR)


def function_of(statement: ast.CreateFunction, text: str | None) -> FunctionDefinition:
    """The declared function. Its code is not looked at."""

    def fail(message: str, node: ast.Node, hint: str) -> NoReturn:
        raise CatalogError(message, hint=hint).at(text, node.span)

    name = statement.name
    if functions.resolve(name) is not None or name.lower() == "python":
        fail(f"there is a function '{name}' already, which is built in", statement, "choose another name")
    if REFERENCE.fullmatch(statement.reference) is None:
        fail(f"'{statement.reference}' names no function of a module", statement, "write 'module:function'")
    given = ast.ColumnDefinition("value", statement.returns, size=statement.size, span=statement.span)
    columns = []
    for definition in (*statement.arguments, given):
        if definition.width is not None or definition.origin is not None or definition.unit is not None:
            fail(f"the argument '{definition.name}' has a type and nothing else", definition, "x FLOAT")
        column = column_of(definition, text)
        if column.type.kind not in KINDS:
            fail(
                f"a function in Python takes and gives no {column.type}",
                definition,
                "INT, FLOAT, STRING, BOOLEAN, TIME and vectors can be taken and given",
            )
        columns.append(column)
    *arguments, returned = columns
    if not arguments:
        fail(f"the function '{name}' needs an argument", statement, f"{name}(x FLOAT): a value for each row")
    names = [one.name.lower() for one in arguments]
    if len(set(names)) < len(names):
        fail("two arguments have one name", statement, "give each a name of its own")
    return FunctionDefinition(name, tuple(arguments), returned.type, statement.reference)


def check_code(statement: ast.Statement | ast.QueryNode, text: str | None) -> None:
    """Import the code of a CREATE or REPLACE FUNCTION, in a worker. Raises if there is none."""
    created = statement.created if isinstance(statement, ast.Replace) else statement
    if isinstance(created, ast.CreateFunction):
        from nilometer.workers.functions import check, renew

        function = function_of(created, text)
        renew(function.reference)
        check(function.reference)


def function_rows(definitions: tuple[FunctionDefinition, ...]) -> list[dict[str, object]]:
    """The rows of SHOW FUNCTIONS."""
    return [
        {
            "name": one.name,
            "arguments": ", ".join(map(str, one.arguments)),
            "returns": str(one.returns),
            "code": one.reference,
        }
        for one in definitions
    ]
