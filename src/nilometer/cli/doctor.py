"""`nilometer doctor`: what is wrong with the machine or the data directory, and how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import DataOption, JsonOption


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("doctor")(doctor)


def doctor(
    data: DataOption = None,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="ADDRESS:PORT", help="Also look whether the server can listen there."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Look at Java, packages, clock, limits, disk, rights, owner, and the hosts that are declared.

    Exits with 1 if something is wrong. A warning is about something that may be wanted.

    Example: nilometer doctor --data field/ --http 7654
    """
    from nilometer.engine.doctor import OK, WRONG, examine
    from nilometer.server.settings import parse_address

    place = None if http is None else parse_address(http)
    found = examine(None if data is None else Path(data), place)
    if json:
        print_records([one.as_dict() for one in found], True)
    else:
        print_records([{"state": one.state, "check": one.check, "found": one.found} for one in found], False)
        for one in found:
            if one.state != OK and one.mend is not None:
                message(f"{one.check}: {one.mend}")
    if any(one.state == WRONG for one in found):
        raise typer.Exit(1)
