"""`nilometer run`: the standing queries of a data directory, live and durable."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.console import message
from nilometer.cli.deliveries import report_deliveries, routes_of, summarize_deliveries
from nilometer.cli.live import SecondsOption, WhenFullOption, follow, open_station, stopped_by_signal
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("run")(run)


def run(
    data: DataOption = None,
    json: JsonOption = False,
    seconds: SecondsOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="This query; may be repeated.")
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="NAME=URL",
            help="Deliver that query's answers there as well: parquet:DIR, jsonl:FILE, mqtt://host/topic, "
            "postgresql://host/database?table=x; may be repeated.",
        ),
    ] = None,
    on: Annotated[
        str, typer.Option("--on", metavar="HOST", help="Where the queries run: gateway or spark.")
    ] = "gateway",
    when_full: WhenFullOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Run the standing queries (CREATE QUERY) of a data directory until Ctrl-C; their answers are kept in its result logs.

    Stopped or killed at any moment, they go on where they stood: nothing is lost and nothing answered twice.

    Example: nilometer run --data field/

    Example: nilometer run --data field/ --to smoky=mqtt://localhost/alerts/{id} --to smoky=parquet:out/smoky
    """
    from nilometer.engine.live import BEGINNING, NOW, LiveQuery, Start
    from nilometer.engine.live.delivery import Deliveries, open_routes
    from nilometer.errors import ConfigurationError, NilometerError

    database = database_of(data, catalog)
    if database.data.base is None:
        raise ConfigurationError(
            "nowhere to keep logs and answers", hint="give a directory with schema.sql: --data DIR"
        )
    wanted = {name.lower() for name in only or ()}
    found = [q for q in database.catalog.queries() if not wanted or q.name.lower() in wanted]
    if not found:
        raise ConfigurationError(
            "there are no standing queries" if not wanted else f"no standing query {', '.join(only or ())}",
            hint="declare one in schema.sql: CREATE QUERY wet AS SELECT ...",
        )
    stopped = stopped_by_signal()
    routes = open_routes(database, routes_of(to or (), [definition.name for definition in found]))
    states: dict[str, str] = {}
    # The sinks end last: the station commits everything when it closes.
    with Deliveries(routes) as deliveries, open_station(database, when_full) as station:
        running: list[LiveQuery] = []
        refused: list[str] = []
        for definition in found:
            start: Start = BEGINNING if isinstance(definition.starting, str) else definition.starting or NOW
            try:
                query = database.sql(definition.text)
                running.append(station.install(query, definition.name, start=start, durable=True, on=on))
            except NilometerError as error:
                if len(found) == 1:
                    raise
                # One that cannot run keeps no other from it.
                refused.append(definition.name)
                message(f"{definition.name} cannot run: {error}")
        if not running:
            raise typer.Exit(1)
        for live in running:
            if live.note is not None:
                message(live.note)
        message(f"running {', '.join(live.name for live in running)}; Ctrl-C stops them")
        follow(
            station,
            running,
            json=json,
            seconds=seconds,
            stopped=stopped,
            besides=lambda: report_deliveries(deliveries, states),
        )
    if not summarize_deliveries(deliveries) or refused:
        raise typer.Exit(1)
