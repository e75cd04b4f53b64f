"""`nilometer serve`: own a data directory. Its streams, standing queries and sinks run here, and all other commands
ask this process."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.live import SecondsOption, WhenFullOption
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, LiveHostOption
from nilometer.cli.run import ToOption, own


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("serve")(serve)


def serve(
    data: DataOption = None,
    rows: Annotated[
        bool,
        typer.Option("--rows", help="Print the answers of the standing queries, as `nilometer run` does."),
    ] = False,
    json: JsonOption = False,
    seconds: SecondsOption = None,
    to: ToOption = None,
    on: LiveHostOption = "gateway",
    when_full: WhenFullOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Own a data directory: run its streams, its standing queries and their sinks, until Ctrl-C.

    While it runs, `query`, `sql`, `answers` and all other commands ask this process, and so does
    nilometer.connect in Python. You may stop or kill it at any moment: the next one goes on where it was.

    Example: nilometer serve --data field/
    """
    own(
        data,
        catalog,
        json=json,
        seconds=seconds,
        to=to,
        on=on,
        when_full=when_full,
        only=None,
        serving=True,
        quiet=not rows,
    )
