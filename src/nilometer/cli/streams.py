"""`nilometer streams`: the declared streams and tables."""

from __future__ import annotations

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("streams")(streams)


def streams(data: DataOption = None, json: JsonOption = False, catalog: CatalogOption = None) -> None:
    """List the streams: kind, columns, interval, delay, sensors.

    Example: nilometer streams --data field/
    """
    database = database_of(data, catalog)
    records = database.show("STREAMS")
    print_records(records, json)
    tables = database.show("TABLES")
    if tables and not json:
        print()
        print_records(tables, json)
    if not records:
        message("no streams are declared; give --data or --catalog")
