"""`nilometer sql`: a shell for statements and queries, with history and completion."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    HostOption,
    JsonOption,
    MemoryOption,
    ServerOption,
    TokenOption,
    database_of,
)

if TYPE_CHECKING:
    from nilometer.cli.shell import Shell


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("sql")(sql)


def sql(
    statements: Annotated[
        str | None,
        typer.Argument(
            metavar="SQL", help="Run these statements and exit, like --command.", show_default=False
        ),
    ] = None,
    data: DataOption = None,
    on: HostOption = "gateway",
    command: Annotated[
        str | None, typer.Option("--command", "-c", metavar="SQL", help="Run these statements and exit.")
    ] = None,
    json: JsonOption = False,
    memory: MemoryOption = None,  # noqa: ARG001 the option takes effect when it is read
    catalog: CatalogOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    r"""Open a shell: statements end with a semicolon, Tab completes, \? lists the commands.

    In a data directory, declarations are kept: they take effect in its owner at once
    (`nilometer serve`), or with the next one.

    Example: nilometer sql --data field/
    """
    command = statements if command is None else command
    if server is not None:
        from nilometer.cli import remote

        with remote.open_server(server, token, data) as there:
            _run(remote.RemoteShell(there, as_json=json), command)
    else:
        from nilometer.cli.shell import Shell

        _run(Shell(database_of(data, catalog, on), as_json=json), command)


def _run(shell: Shell, command: str | None) -> None:
    if command is not None:
        lines = iter(
            [command if command.rstrip().endswith(";") or command.startswith("\\") else command + ";"]
        )
        shell.run(lambda _: next(lines))
    elif sys.stdin.isatty():
        shell.run_at_terminal()
    else:
        text = iter(sys.stdin)
        shell.run(lambda _: next(text).rstrip("\n"))
    if shell.failed and (command is not None or not sys.stdin.isatty()):
        raise typer.Exit(1)
