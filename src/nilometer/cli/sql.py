"""`nilometer sql`: a shell for statements and queries, with history and completion."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from nilometer.cli.options import CatalogOption, DataOption, HostOption, JsonOption, MemoryOption, database_of


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("sql")(sql)


def sql(
    data: DataOption = None,
    on: HostOption = "gateway",
    command: Annotated[
        str | None, typer.Option("--command", "-c", metavar="SQL", help="Run these statements and exit.")
    ] = None,
    json: JsonOption = False,
    memory: MemoryOption = None,  # noqa: ARG001 the option takes effect when it is read
    catalog: CatalogOption = None,
) -> None:
    r"""Open a shell: statements end with a semicolon, Tab completes, \? lists the commands.

    In a data directory, declarations are kept: they take effect in its owner at once
    (`nilometer serve`), or with the next one.

    Example: nilometer sql --data field/
    """
    from nilometer.cli.shell import Shell

    shell = Shell(database_of(data, catalog, on), as_json=json)
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
