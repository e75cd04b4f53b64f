"""`nilometer streams`: list the declared streams and tables, or the books of their logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

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

if TYPE_CHECKING:
    from nilometer.engine import Database


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("streams")(streams)


def streams(
    data: DataOption = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
    ledger: Annotated[
        bool, typer.Option("--ledger", help="Show the books: counters that account for every reading.")
    ] = False,
    statistics: Annotated[
        bool,
        typer.Option("--statistics", help="Measure rates, gaps and values, and keep them for the optimizer."),
    ] = False,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """List the streams and tables: kind, columns, interval, delay, sensors; or the streams' books.

    Example: nilometer streams --data field/ --ledger
    """
    if server is not None:
        from nilometer.cli import remote

        with remote.open_server(server, token, data) as there:
            listed = there.show("STREAMS")
            if ledger or statistics:
                what = "ledger" if ledger else "statistics"
                listed = [
                    there.get(f"/api/v1/streams/{quote(one['name'], safe='')}/{what}") for one in listed
                ]
        print_records(listed, json)
        return
    database = database_of(data, catalog)
    if ledger:
        print_books(database, json)
        return
    if statistics:
        print_statistics(database, json)
        return
    records = database.show("STREAMS")
    print_records(records, json)
    tables = database.show("TABLES")
    if tables and not json:
        print()
        print_records(tables, json)
    if not records:
        message("no streams are declared; give --data or --catalog")


def print_statistics(database: Database, json: bool) -> None:
    """Measure the newest readings of every stream, and print what was found."""
    from nilometer.engine.measuring import column_record, measure_streams, stream_record

    found = measure_streams(database)
    print_records([stream_record(measured) for measured in found], json)
    if found and not json:
        print()
    print_records([column_record(one.stream, column) for one in found for column in one.columns], json)
    if not found:
        message("no stream has readings yet")


def print_books(database: Database, json: bool) -> None:
    """Print the books of streams, what their payloads lack or have beyond the declaration, and the books of queries.

    received = appended + garbled + future + duplicate + shed; read = delivered + filtered + late + shed.
    """
    from nilometer.live.books import field_books, query_books, stream_books

    of_streams, of_queries = stream_books(database), query_books(database)
    print_records(of_streams, json)
    of_fields = field_books(database)
    if of_fields and not json:
        print()
    print_records(of_fields, json)
    if of_streams and of_queries and not json:
        print()
    print_records(of_queries, json)
    if not of_streams:
        message("no stream has a log here yet; nilometer run or a live nilometer query writes one")
