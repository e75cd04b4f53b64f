"""`nilometer answers`: what a standing query has answered."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.console import RowPrinter, message
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("answers")(answers)


def answers(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The standing query.")],
    data: DataOption = None,
    position: Annotated[
        int, typer.Option("--from", metavar="POSITION", min=0, help="Begin after so many rows.")
    ] = 0,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="At most so many rows.")] = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
) -> None:
    """Print the rows that a standing query (CREATE QUERY) has answered, the oldest first; it may be running meanwhile.

    Example: nilometer answers smoky --data field/ --from 1000
    """
    from nilometer.engine.live.kept_answers import kept_answers

    found = kept_answers(database_of(data, catalog), name, position)
    printer = RowPrinter(found.schema.names, json, limit)
    for answer in found:
        if printer.full:
            break
        printer.print(answer)
    if found.left_out:
        message(f"{found.left_out} rows of an older version are left out: a column had another type then")
    message(
        f"{name} has answered {found.end} row{'' if found.end == 1 else 's'}; --from {found.end} gives what comes next"
    )
