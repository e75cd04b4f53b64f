"""`nilometer apply`: bring a data directory to what its schema.sql declares, while it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.console import message
from nilometer.cli.options import DataOption, ForceOption, database_of


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("apply")(apply)


def apply(
    data: DataOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the difference.")] = False,
    force: ForceOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Drop without asking.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what schema.sql does not declare.")] = False,
) -> None:
    """Show how the database differs from its schema.sql, and bring it there.

    What schema.sql declares is created or replaced. What it does not declare is
    dropped, with its answers, after you have agreed; with --keep it stays. If `nilometer serve` runs,
    all of it takes effect there at once.

    Example: nilometer apply --data field/ --dry-run
    """
    from nilometer.engine import connect
    from nilometer.engine.opening import read_script
    from nilometer.errors import ConfigurationError, NilometerError

    database = database_of(data, None)
    if database.keeping is None:
        raise ConfigurationError("there is no schema.sql to apply", hint="give a directory: --data DIR")
    schema = Path(database.keeping.directory) / "schema.sql"
    script = read_script(schema)
    # Refused as a whole, before anything is dropped or created.
    alone = connect()
    alone.data.base = Path(database.keeping.directory)
    try:
        alone.execute(script)
    except NilometerError as error:
        raise error.within(str(schema)) from None
    for text in [view.text for view in alone.catalog.views()] + [q.text for q in alone.catalog.queries()]:
        alone.sql(text)
    steps = database.keeping.request("apply", script=script, dry_run=True, drops=False)["steps"]
    for what, kind, name, _ in steps:
        message(f"{'KEEP' if keep and what == 'DROP' else what} {kind} {name}")
    if not steps:
        message("nothing to do: the database is as schema.sql declares it")
    if dry_run or not steps:
        return
    drops = [f"{kind.lower()} {name}" for what, kind, name, _ in steps if what == "DROP"]
    if drops and not yes and not keep:
        if not sys.stdin.isatty():
            raise ConfigurationError(
                f"{', '.join(drops)} would be dropped, with all answers",
                hint="--keep leaves them as they are, --yes drops them; or declare them in schema.sql",
            )
        typer.confirm(f"Drop {', '.join(drops)}, with all answers?", abort=True, err=True)
    done = database.keeping.request("apply", script=script, dry_run=False, drops=not keep, force=force)
    for line in done["told"]:
        message(line)
