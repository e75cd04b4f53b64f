"""The options that several verbs share. Most can also be set by an environment variable."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR_OR_FILE",
        envvar="NILOMETER_DATA",
        help="A directory with schema.sql and one CSV, JSON-lines or Parquet file per stream; or files of one stream.",
    ),
]
DataListOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="[STREAM=]PATH",
        help="A directory with schema.sql and one CSV, JSON-lines or Parquet file per stream; or files of one stream: "
        "a file, a directory or a pattern ('air/*.csv', .gz and .zst too). STREAM=PATH names the stream; may be "
        "repeated. Default: NILOMETER_DATA.",
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
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar="NILOMETER_SERVER",
        help="Ask this server (nilometer serve --http) instead of a directory: http://host:7654.",
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="NILOMETER_TOKEN",
        help="The token for the server. Others see it in the list of processes: better set NILOMETER_TOKEN.",
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Run it even if it asks for more than \\[limits] in nilometer.toml allow."),
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
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no messages beside the rows, only errors.")
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Exit with 1 if a reading was lost: late, garbled, from the future, shed or unanswered.",
    ),
]
LogOrderOption = Annotated[
    bool,
    typer.Option(
        "--log-order",
        help="Take the order of a file's rows as the order of their arrival: some may be late. Otherwise they are "
        "sorted by time.",
    ),
]
AllowGapsOption = Annotated[
    bool,
    typer.Option(
        "--allow-gaps",
        help="Read a log although segments of it are missing, and say which positions. Otherwise that is an error.",
    ),
]


def _use_memory(text: str | None) -> str | None:
    from nilometer.memory import give

    give(text)
    return text


MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        callback=_use_memory,
        help="The memory of this process, such as 2GB: NILOMETER_MEMORY and nilometer.toml say it, too.",
    ),
]
SqlArgument = Annotated[str, typer.Argument(metavar="SQL", help="The query, a .sql file, or '-' for stdin.")]


def database_of(
    data: str | Sequence[str] | None,
    catalog: str | None,
    on: str = "gateway",
    *,
    log_order: bool = False,
    allow_gaps: bool = False,
    tell: bool = True,
) -> Any:
    """Connect to the database that the options name; `tell` its notes."""
    from nilometer.cli.console import message
    from nilometer.engine import connect
    from nilometer.engine.opening import named_after_files
    from nilometer.errors import ConfigurationError

    given = [data] if isinstance(data, str) else list(data or ())
    if not given and os.environ.get("NILOMETER_DATA"):
        given = [os.environ["NILOMETER_DATA"]]
    for each in given:
        if each.startswith(("http://", "https://")):
            raise ConfigurationError(
                "the command line works on a data directory, not on a server",
                hint=f'from Python: nilometer.connect("{each}"); or ask with curl: docs/http.md',
            )
    plain, named = _separated(given)
    if len(plain) > 1:
        plain, named = named_after_files(plain, named)
    database = connect(plain[0] if plain else None, catalog=catalog, on=on, log_order=log_order)
    database.data.allow_gaps = allow_gaps
    for stream, path in named.items():
        database.attach(stream, path)
    for note in database.notes if tell else ():
        message(note)
    return database


def _separated(given: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The data without a name, and the others by the names of their streams."""
    plain: list[str] = []
    named: dict[str, str] = {}
    for each in given:
        found = re.fullmatch(r"([A-Za-z_]\w*)=(.+)", each)
        # A folder may have such a name, too: year=2024/
        if found is None or os.path.exists(each) or (glob.has_magic(each) and glob.glob(each)):
            plain.append(each)
        else:
            named[found[1]] = found[2]
    return plain, named
