"""`nilometer inspect`: look at data and print the declaration of its stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.console import message, print_json
from nilometer.cli.options import JsonOption
from nilometer.printable import printable_text


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("inspect")(inspect)


def inspect(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|DIR|PATTERN|URL",
            help="A file, a directory, a pattern such as 'air/*.csv', mqtt://host/topic or http://host/path.",
        ),
    ],
    write: Annotated[
        bool, typer.Option("--write", help="Put the declaration into the schema.sql beside the data.")
    ] = False,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="DIR", help="The directory of the schema.sql for --write."),
    ] = None,
    messages: Annotated[
        int, typer.Option("--messages", min=1, help="How many messages of an address to wait for.")
    ] = 200,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="How long to listen at an address, at most.")
    ] = 10.0,
    json: JsonOption = False,
) -> None:
    """Look at data, and print the declaration of its stream or table, with what was found as comments.

    It finds the columns and their types, the time and its format, the id, the interval of the readings,
    disorder, doubles, gaps and faults.

    Example: nilometer inspect field/air.csv --write
    """
    from nilometer.engine.inspecting import inspect as look_at
    from nilometer.engine.inspecting import write_schema

    found = look_at(source, messages=messages, seconds=seconds, into=into)
    if json:
        print_json(found.as_dict())
    else:
        print(printable_text(found.text()), end="")
    if write or into is not None:
        message(f"written to {write_schema(found, into)}")
