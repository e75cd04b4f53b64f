"""`nilometer sensors`: list the declared sensors, with location and static attributes."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    JsonOption,
    ServerOption,
    TokenOption,
    database_of,
)


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("sensors")(sensors)


def sensors(
    data: DataOption = None,
    stream: Annotated[str | None, typer.Option("--stream", help="Only the sensors of this stream.")] = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """List the sensors: id, stream, location, attributes.

    Example: nilometer sensors --data field/ --stream river
    """
    if server is not None:
        from nilometer.cli import remote

        with remote.open_server(server, token, data) as there:
            records = there.show("SENSORS")
    else:
        database = database_of(data, catalog)
        records = database.show("SENSORS")
        stream = None if stream is None else database.catalog.stream(stream).name
    if stream is not None:
        records = [record for record in records if record["stream"].lower() == stream.lower()]
    print_records(records, json)
    if not records:
        message("no sensors are declared; use CREATE SENSOR or COPY SENSORS in schema.sql")
