"""`nilometer execute`: run declarations and changes, in the running database or for the next `serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.console import message, print_shown, read_sql
from nilometer.cli.live import refuse_store
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    ForceOption,
    JsonOption,
    ServerOption,
    TokenOption,
    database_of,
)


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("execute")(execute)


def execute(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="Statements, a .sql file, or '-' for stdin.")],
    data: DataOption = None,
    json: JsonOption = False,
    force: ForceOption = False,
    catalog: CatalogOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Run statements that change what is declared or what runs: CREATE, REPLACE, PAUSE, RESUME, DROP.

    If `nilometer serve` runs, they take effect there at once.

    Example: nilometer execute --data field/ "CREATE QUERY hot AS SELECT id, x FROM air WHERE x > 60"
    """
    from nilometer.engine.query import Query
    from nilometer.errors import ConfigurationError
    from nilometer.language import ast, parse_script

    text = read_sql(sql)
    if any(isinstance(statement, ast.QueryNode) for statement in parse_script(text)):
        raise ConfigurationError("execute runs no queries", hint="ask a query with: nilometer query")
    if server is not None:
        from nilometer.cli import remote

        with remote.open_server(server, token, data) as there:
            remote.execute(there, text, json=json)
        return
    database = database_of(data, catalog)
    refuse_store(database)
    for result in database.execute(text, force=force):
        match result:
            case None:
                pass
            case str():
                print(result)
            case Query():
                raise AssertionError("a query")
            case _:
                print_shown(result, json)
    for line in database.told:
        message(line)
