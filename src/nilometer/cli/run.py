"""`nilometer run`: run the standing queries of a data directory; answers and state survive a crash."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from nilometer.cli.console import message
from nilometer.cli.deliveries import report_deliveries, routes_of, summarize_deliveries
from nilometer.cli.live import (
    SecondsOption,
    WhenFullOption,
    follow,
    open_owner,
    refuse_store,
    stopped_by_signal,
)
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    ForceOption,
    JsonOption,
    LiveHostOption,
    MemoryOption,
    database_of,
)

if TYPE_CHECKING:
    from nilometer.catalog import QueryDefinition
    from nilometer.ingest.adapters.push import Pushes
    from nilometer.live.owner.owner import Owner
    from nilometer.live.peers.peering import PeerOptions
    from nilometer.server.http_server import HttpServer
    from nilometer.server.settings import HttpSettings


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("run")(run)


ToOption = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        metavar="NAME=URL",
        help="Also deliver that query's answers to a sink: parquet:DIR, delta:DIR, jsonl:FILE, mqtt://host/topic, kafka://host/topic, "
        "postgresql://host/database?table=x; may be repeated.",
    ),
]


def run(
    data: DataOption = None,
    json: JsonOption = False,
    seconds: SecondsOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Run only this query; may be repeated.")
    ] = None,
    to: ToOption = None,
    on: LiveHostOption = "gateway",
    when_full: WhenFullOption = None,
    force: ForceOption = False,
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
    own(data, catalog, json=json, seconds=seconds, to=to, on=on, when_full=when_full, only=only, force=force)


def own(
    data: str | None,
    catalog: str | None,
    *,
    json: bool,
    seconds: float | None,
    to: Sequence[str] | None,
    on: str,
    when_full: Sequence[str] | None,
    only: Sequence[str] | None,
    serving: bool = False,
    quiet: bool = False,
    force: bool = False,
    http: HttpSettings | None = None,
    peer: PeerOptions | None = None,
) -> None:
    """Own the directory. `serving`: also without standing queries, and after their sources have ended. `http`: where
    to serve HTTP."""
    from nilometer.engine.hosts import host_name
    from nilometer.engine.peering import open_peering
    from nilometer.errors import ConfigurationError
    from nilometer.live.alerts.alerting import Alerting
    from nilometer.live.delivery import Deliveries, open_routes
    from nilometer.live.owner.changes import take_up
    from nilometer.live.roster import Roster

    database = database_of(data, catalog)
    refuse_store(database)
    if database.data.base is None:
        raise ConfigurationError(
            "nowhere to keep logs and answers", hint="give a directory with schema.sql: --data DIR"
        )
    wanted = {name.lower() for name in only or ()}

    def declared() -> list[QueryDefinition]:
        return [q for q in database.catalog.queries() if not wanted or q.name.lower() in wanted]

    if not declared() and not serving:
        raise ConfigurationError(
            "there are no standing queries" if not wanted else f"no standing query {', '.join(only or ())}",
            hint="declare one in schema.sql: CREATE QUERY wet AS SELECT ...",
        )
    stopped = stopped_by_signal()
    states: dict[str, str] = {}
    pushes = _pushes() if http is not None else None
    with open_owner(database, when_full, pushes=pushes) as owner:
        # From here on this process decides what is declared. Others may have changed it before it had the lock.
        keeping, database.keeping = database.keeping, None
        peering = None if peer is None else open_peering(owner.station, peer, message)
        found = declared()
        roster = Roster(owner.station, found, on=host_name(on), say=message)
        if keeping is not None:
            owner.changes = take_up(database, roster, message, force=force)
        # The sinks close after the queries, whose last answers they deliver.
        routes = open_routes(database, routes_of(to or (), [definition.name for definition in found]))
        with Deliveries(routes) as deliveries, roster, ExitStack() as stack:
            if peering is not None:
                stack.callback(peering.close)
            roster.begin(alone=not serving)
            roster.alerting = alerting = stack.enter_context(Alerting(owner.station, say=message))
            if http is not None and pushes is not None:
                stack.enter_context(_serve_http(owner, http, pushes))
            if not roster.queries and not roster.paused and not serving:
                raise typer.Exit(1)
            if serving and host_name(on) == "spark":
                owner.lender.warm_aside()
            running = ", ".join(live.name for live in roster.queries)
            if serving:
                message(
                    f"serving {database.data.base}{f'; running {running}' if running else ''}; Ctrl-C stops it"
                )
            else:
                message(
                    f"running {running}; Ctrl-C stops them"
                    if running
                    else "nothing runs now; Ctrl-C ends this"
                )

            if peering is not None:
                # In every turn of the loop, also while nobody asks.
                owner.watchers.append(peering.look)

            if serving:
                owner.station.heap.settle(len(owner.station.queries))

            def besides() -> None:
                owner.attend()
                alerting.look()
                report_deliveries(deliveries, states)
                roster.look()

            follow(
                owner.station,
                roster.queries,
                json=json,
                several=len(found) > 1 or serving,
                seconds=seconds,
                stopped=stopped,
                besides=besides,
                loop=owner.run if serving else None,
                quiet=quiet,
            )
    if not summarize_deliveries(deliveries) or roster.refused:
        raise typer.Exit(1)


def _pushes() -> Pushes:
    from nilometer.ingest.adapters.push import Pushes
    from nilometer.server.http_server import require_server

    require_server()
    return Pushes()


def _serve_http(owner: Owner, settings: HttpSettings, pushes: Pushes) -> HttpServer:
    from nilometer.server.http_server import HttpServer

    server = HttpServer(owner, settings, pushes)
    message(f"HTTP at {server.address} (the dashboard); the API is described at {server.address}/docs")
    if not settings.loopback and settings.tls_cert is None:
        message(
            "tokens and readings cross the network as they are: give --tls-cert and --tls-key, or put a proxy in front"
        )
    return server
