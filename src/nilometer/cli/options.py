"""The options that several verbs share. Most can also be set by an environment variable."""

from __future__ import annotations

from typing import Annotated, Any

import typer

DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR_OR_FILE",
        envvar="NILOMETER_DATA",
        help="A directory with schema.sql and one CSV, JSON-lines or Parquet file per stream; or one such file.",
    ),
]
CatalogOption = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="URL",
        envvar="NILOMETER_CATALOG",
        help="The catalog: a SQLite file or a PostgreSQL URL.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the query; may be repeated."),
]
ProfileOption = Annotated[
    str,
    typer.Option(
        "--profile",
        envvar="NILOMETER_PROFILE",
        help="The rules of optimization and placement: default or snee-2010.",
    ),
]
HostOption = Annotated[
    str,
    typer.Option(
        "--on", envvar="NILOMETER_ON", help="The host that runs the query: gateway, spark or reference."
    ),
]
LiveHostOption = Annotated[
    str, typer.Option("--on", metavar="HOST", help="Where the queries run: gateway or spark.")
]
SqlArgument = Annotated[str, typer.Argument(metavar="SQL", help="The query, a .sql file, or '-' for stdin.")]


def database_of(data: str | None, catalog: str | None, on: str = "gateway") -> Any:
    """Connect to the database that the options name."""
    from nilometer.cli.console import message
    from nilometer.engine import connect

    database = connect(data, catalog=catalog, on=on)
    for note in database.notes:
        message(note)
    return database
