"""`nilometer query`: run a query over files and logs, or over live streams."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.account import refuse_losses, tell_account
from nilometer.cli.console import parameters_of, print_json, print_shown, print_table, quietly, read_sql
from nilometer.cli.live import SecondsOption, WhenFullOption, is_live
from nilometer.cli.live_query import run_live
from nilometer.cli.options import (
    AllowGapsOption,
    CatalogOption,
    DataListOption,
    ForceOption,
    HostOption,
    JsonOption,
    LogOrderOption,
    MemoryOption,
    ProfileOption,
    QuietOption,
    ServerOption,
    SetOption,
    SqlArgument,
    StrictOption,
    TokenOption,
    database_of,
)


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("query")(query)


def query(
    sql: SqlArgument,
    data: DataListOption = None,
    on: HostOption = "gateway",
    json: JsonOption = False,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="Print at most this many rows.")] = None,
    seconds: SecondsOption = None,
    start: Annotated[
        str, typer.Option("--start", help="Where in the logs a live query begins: now, beginning, or a time.")
    ] = "now",
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Wait for new readings, or read only the logs.")
    ] = True,
    log_order: LogOrderOption = False,
    allow_gaps: AllowGapsOption = False,
    when_full: WhenFullOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    strict: StrictOption = False,
    memory: MemoryOption = None,  # noqa: ARG001 the option takes effect when it is read
    set_: SetOption = None,
    catalog: CatalogOption = None,
    profile: ProfileOption = "default",
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Run a query by event time, over files or over live streams, and print its rows.

    The query is live if one of its streams is declared FROM an address.
    It then prints rows as they become final, until Ctrl-C or --seconds.
    It runs on the gateway, or on Spark with --on spark.

    Example: nilometer query --data field/ "SELECT id, AVG(depth) FROM river [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY id"
    """
    from nilometer.engine.accounts import lost_in
    from nilometer.engine.hosts import LIVE_HOSTS
    from nilometer.language import ast, parse
    from nilometer.plan.physical import most_rows

    if server is not None:
        from nilometer.cli import remote

        with quietly(quiet), remote.open_server(server, token, data) as there:
            remote.query(
                there,
                read_sql(sql),
                parameters_of(set_ or []),
                json=json,
                limit=limit,
                seconds=seconds,
                start=start,
                follow=follow,
            )
        return
    with quietly(quiet):
        database = database_of(data, catalog, on, log_order=log_order, allow_gaps=allow_gaps, tell=not json)
        database.brief = True
        text = read_sql(sql)
        statement = parse(text)
        if isinstance(statement, ast.Show):
            print_shown(database.show(statement.kind), json)
            return
        if isinstance(statement, ast.Explain):
            print(database.execute(text, **parameters_of(set_ or []))[0])
            return
        asked = database.query_of(statement, text, **parameters_of(set_ or [])).with_profile(profile)
        if follow and database.host in LIVE_HOSTS and is_live(asked):
            counts = [count for count in (limit, most_rows(asked.physical)) if count is not None]
            most = min(counts, default=None)
            run_live(asked, database.host, start, json, most, seconds, when_full, strict=strict, force=force)
            return
        answer = asked.run()
        shown = answer if limit is None else answer.head(limit)
        if json:
            for line in shown.json_rows():
                print_json(line)
        else:
            print_table(shown.columns, shown.text_rows())
        tell_account(answer, len(shown), asked, json)
        if strict:
            refuse_losses(lost_in(answer))
