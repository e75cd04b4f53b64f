"""`nilometer audit`: who changed what in a data directory."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import DataOption, JsonOption
from nilometer.types import format_time


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("audit")(audit)


def audit(
    data: DataOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, newest first.")] = 50,
    json: JsonOption = False,
) -> None:
    """Show who declared, dropped, silenced, acknowledged or overruled what, and who made tokens, newest first.

    Example: nilometer audit --data field/
    """
    from nilometer.errors import ConfigurationError
    from nilometer.live.audit import history

    if data is None:
        raise ConfigurationError("changes are recorded in a data directory", hint="give one: --data DIR")
    found = [one | {"at": format_time(one["at"])} for one in islice(history(Path(data)), limit)]
    print_records(found, json)
    if not found:
        message("nothing has been changed yet")
