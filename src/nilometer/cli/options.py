"""The options that several verbs share; each can also be set by an environment variable."""

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
        "--catalog", metavar="URL", envvar="NILOMETER_CATALOG", help="A SQLite file or PostgreSQL URL."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the query; may be repeated."),
]
ProfileOption = Annotated[
    str,
    typer.Option(
        "--profile", envvar="NILOMETER_PROFILE", help="How to optimize and to place: default or snee-2010."
    ),
]
HostOption = Annotated[
    str, typer.Option("--on", envvar="NILOMETER_ON", help="The host: gateway, spark or reference.")
]
LiveHostOption = Annotated[
    str, typer.Option("--on", metavar="HOST", help="Where the queries run: gateway or spark.")
]
SqlArgument = Annotated[
    str, typer.Argument(metavar="SQL", help="The query; '-' reads stdin; or a .sql file.")
]


def database_of(data: str | None, catalog: str | None, on: str = "gateway") -> Any:
    """The database that the options name."""
    from nilometer.cli.console import message
    from nilometer.engine import connect

    database = connect(data, catalog=catalog, on=on)
    for note in database.notes:
        message(note)
    return database
