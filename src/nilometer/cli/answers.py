"""`nilometer answers`: print or deliver the answers of a standing query."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from nilometer.cli.console import RowPrinter, message
from nilometer.cli.deliveries import report_deliveries, summarize_deliveries, warn_of_passwords
from nilometer.cli.live import SecondsOption, stopped_by_signal
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    JsonOption,
    ServerOption,
    TokenOption,
    database_of,
)
from nilometer.redaction import redacted

if TYPE_CHECKING:
    from nilometer.engine import Database


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("answers")(answers)


def answers(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the standing query.")],
    data: DataOption = None,
    position: Annotated[
        int, typer.Option("--from", metavar="POSITION", min=0, help="Skip this many rows.")
    ] = 0,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="Print at most this many rows.")] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="URL",
            help="Instead of printing, deliver the rows that this sink does not have yet: parquet:DIR, "
            "delta:DIR, jsonl:FILE, mqtt://host/topic, kafka://host/topic, postgresql://host/database?table=x; may be repeated.",
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for new answers, until Ctrl-C.")] = False,
    seconds: SecondsOption = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Print the answers of a standing query (CREATE QUERY), oldest first, or deliver them to a sink.

    The query may be running at the same time.

    Example: nilometer answers smoky --data field/ --from 1000

    Example: nilometer answers smoky --data field/ --to parquet:out/smoky --follow
    """
    from nilometer.errors import ConfigurationError

    if server is not None:
        from nilometer.cli import remote

        if to:
            raise ConfigurationError("a sink is filled where the answers are", hint="serve --to NAME=URL")
        with remote.open_server(server, token, data) as there:
            remote.answers(there, name, position, json=json, limit=limit, follow=follow, seconds=seconds)
        return
    database = database_of(data, catalog)
    if to and (position or limit is not None):
        raise ConfigurationError(
            "a sink always receives all answers that it does not have yet",
            hint="leave out --from and --limit",
        )
    if to:
        deliver(database, name, to, on_and_on=follow, seconds=seconds)
    elif follow:
        print_on(database, name, position, limit, json=json, seconds=seconds)
    else:
        print_kept(database, name, position, limit, json=json)


def print_kept(database: Database, name: str, position: int, limit: int | None, *, json: bool) -> None:
    """Print the answers that the result log holds now, in the columns of the query's last version."""
    from nilometer.live.kept_answers import kept_answers

    found = kept_answers(database, name, position)
    printer = RowPrinter(found.schema.names, json, limit)
    for answer in found:
        if printer.full:
            break
        printer.print(answer)
    if found.left_out:
        message(f"{found.left_out} rows of an older version are left out: a column had another type then")
    if found.trimmed > position:
        message(f"{found.trimmed - position} older rows were trimmed")
    if found.shed:
        message(f"{found.shed} readings were shed for lack of memory: rows that depend on them are missing")
    message(
        f"{name} has answered {found.end} row{'' if found.end == 1 else 's'}; --from {found.end} gives what comes next"
    )


def print_on(
    database: Database,
    name: str,
    position: int,
    limit: int | None,
    *,
    json: bool,
    seconds: float | None,
) -> None:
    """Print rows as they are committed, each in the columns of its own version."""
    from nilometer.live.delivery import follow

    over = stops(seconds)
    printer: RowPrinter | None = None
    columns: Sequence[str] = ()
    try:
        for answer in follow(database, name, position, wait=lambda: not over()):
            if printer is None or columns != answer.columns:
                columns = answer.columns
                printer = RowPrinter(columns, json, None if limit is None else limit)
            printer.print(answer)
            limit = None if limit is None else limit - len(answer)
            if limit is not None and limit <= 0:
                return
    except KeyboardInterrupt:
        message("stopped")


def deliver(
    database: Database, name: str, urls: Sequence[str], *, on_and_on: bool, seconds: float | None
) -> None:
    """Deliver to each sink the rows that it does not have yet."""
    from nilometer.live.delivery import Deliveries, deliver, open_routes

    warn_of_passwords(urls)
    if not on_and_on:
        for url in urls:
            done = deliver(database, name, url)
            message(f"{done.rows} row{'' if done.rows == 1 else 's'} delivered to {redacted(url)}")
        return
    over = stops(seconds)
    states: dict[str, str] = {}
    with Deliveries(open_routes(database, [(name, url) for url in urls])) as deliveries:
        message(f"delivering {name}; Ctrl-C stops it")
        try:
            while not over() and not all(way.delivery.ended for way in deliveries.routes):
                report_deliveries(deliveries, states)
        except KeyboardInterrupt:
            message("stopped")
    if not summarize_deliveries(deliveries):
        raise typer.Exit(1)


def stops(seconds: float | None) -> Callable[[], bool]:
    """A function that waits a moment and returns whether to stop: after `seconds`, or at SIGTERM."""
    from nilometer.live.delivery import a_moment

    stopped, began = stopped_by_signal(), time.monotonic()

    def over() -> bool:
        a_moment()
        return stopped() or (seconds is not None and time.monotonic() - began >= seconds)

    return over
