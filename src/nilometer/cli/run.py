"""`nilometer run`: run the standing queries of a data directory; answers and state survive a crash."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.console import message
from nilometer.cli.deliveries import report_deliveries, routes_of, summarize_deliveries
from nilometer.cli.live import SecondsOption, WhenFullOption, follow, open_station, stopped_by_signal
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    JsonOption,
    LiveHostOption,
    MemoryOption,
    database_of,
)


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("run")(run)


def run(
    data: DataOption = None,
    json: JsonOption = False,
    seconds: SecondsOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Run only this query; may be repeated.")
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="NAME=URL",
            help="Also deliver that query's answers to a sink: parquet:DIR, jsonl:FILE, mqtt://host/topic, "
            "postgresql://host/database?table=x; may be repeated.",
        ),
    ] = None,
    on: LiveHostOption = "gateway",
    when_full: WhenFullOption = None,
    memory: MemoryOption = None,  # noqa: ARG001 the option takes effect when it is read
    catalog: CatalogOption = None,
) -> None:
    """Run the standing queries (CREATE QUERY) of a data directory and keep their answers, until Ctrl-C.

    The answers are kept in result logs in the data directory.
    You may stop or kill this process at any moment. The next run goes on
    from the last commit: no answer is lost, and none is given twice.
    `nilometer queries` lists, pauses and resumes the queries meanwhile.

    Example: nilometer run --data field/

    Example: nilometer run --data field/ --to smoky=mqtt://localhost/alerts/{id} --to smoky=parquet:out/smoky
    """
    from nilometer.engine.hosts import host_name
    from nilometer.errors import ConfigurationError
    from nilometer.live.delivery import Deliveries, open_routes
    from nilometer.live.roster import Roster

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
    # The sinks close last, because the station makes its last commits when it closes.
    with Deliveries(routes) as deliveries, open_station(database, when_full) as station:
        roster = Roster(station, found, on=host_name(on), say=message)
        roster.begin()
        if not roster.queries and not roster.paused:
            raise typer.Exit(1)
        running = ", ".join(live.name for live in roster.queries)
        message(f"running {running}; Ctrl-C stops them" if running else "nothing runs now; Ctrl-C ends this")

        def besides() -> None:
            report_deliveries(deliveries, states)
            roster.look()

        try:
            follow(
                station,
                roster.queries,
                json=json,
                several=len(found) > 1,
                seconds=seconds,
                stopped=stopped,
                besides=besides,
            )
        finally:
            roster.show()
    if not summarize_deliveries(deliveries) or roster.refused:
        raise typer.Exit(1)
