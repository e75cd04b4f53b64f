"""`nilometer queries`: list, pause, resume, drop, replay and trim a data directory's standing queries, and show their
versions and dead letters."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

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
from nilometer.memory import size_of
from nilometer.types import format_bytes

if TYPE_CHECKING:
    from nilometer.live.query_list import QueryState

commands = typer.Typer(
    help="Manage the standing queries: list, versions, pause, resume, drop, replay, trim.",
    invoke_without_command=True,
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the standing query.")]

PATIENCE = 15.0
"""How many seconds `pause` waits for a query to stop: the query finishes its micro-batch first."""


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.add_typer(commands, name="queries")


@commands.callback()
def queries(
    context: typer.Context,
    data: DataOption = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """List the standing queries and their state, or pause, resume, drop, replay or trim one.

    Example: nilometer queries --data field/
    """
    if server is not None:
        from nilometer.cli import remote
        from nilometer.errors import ConfigurationError

        if context.invoked_subcommand == "versions":
            context.meta["server"] = (server, token)
            return
        if context.invoked_subcommand is not None:
            raise ConfigurationError(
                "by --server, queries and their versions are only listed here",
                hint="change them with statements: nilometer execute --server URL 'PAUSE QUERY smoky'",
            )
        with remote.open_server(server, token, data) as there:
            print_records(there.queries(), json)
    elif context.invoked_subcommand is None:
        list_queries(data, json, catalog)
    else:
        # `queries --data field pause smoky` means the same as `queries pause smoky --data field`.
        context.obj = (data, catalog)


@commands.command("list")
def list_command(
    context: typer.Context, data: DataOption = None, json: JsonOption = False, catalog: CatalogOption = None
) -> None:
    """List the standing queries, with their state, progress and counters.

    The columns: state, rows answered, readings behind, watermark and its lag,
    batch time, size of the state, late and shed readings, dead rows, completeness.

    Example: nilometer queries list --data field/ --json
    """
    data, catalog = _given(context, data, catalog)
    list_queries(data, json, catalog)


@commands.command("pause")
def pause_command(
    context: typer.Context, name: NameArgument, data: DataOption = None, catalog: CatalogOption = None
) -> None:
    """Pause a query, in whatever process it runs; it does not run again until you resume it.

    Example: nilometer queries pause smoky --data field/
    """
    from nilometer.live.standing import runner_of
    from nilometer.live.upkeep import known, pause

    database = database_of(*_given(context, data, catalog))
    runner = pause(database, name)
    directory, name = known(database, name)
    until = time.monotonic() + PATIENCE
    while runner is not None and time.monotonic() < until:
        time.sleep(0.1)
        runner = runner_of(directory, name)
    if runner is None:
        message(f"{name} is paused; it goes on where it stands after: nilometer queries resume {name}")
    else:
        message(f"{name} is asked to pause; {runner} still runs it")


@commands.command("resume")
def resume_command(
    context: typer.Context, name: NameArgument, data: DataOption = None, catalog: CatalogOption = None
) -> None:
    """Resume a paused query where it stopped, in the process that ran it or in the next `nilometer run`.

    Example: nilometer queries resume smoky --data field/
    """
    from nilometer.live.upkeep import known, resume

    database = database_of(*_given(context, data, catalog))
    runner = resume(database, name)
    _, name = known(database, name)
    if runner is None:
        message(f"{name} goes on within a second if a nilometer run is there, else with the next one")
    else:
        message(f"{name} is running: {runner}")


@commands.command("analyze")
def analyze_command(
    context: typer.Context, name: NameArgument, data: DataOption = None, catalog: CatalogOption = None
) -> None:
    """Show the plan of a running query, with the work of each operator since its owner began.

    Example: nilometer queries analyze smoky --data field/
    """
    from nilometer.errors import ConfigurationError
    from nilometer.live.owner.client import find_owner

    base = database_of(*_given(context, data, catalog)).data.base
    client = None if base is None else find_owner(base)
    if client is None:
        raise ConfigurationError(
            "nobody runs queries here",
            hint="start `nilometer serve`; for data at hand there is explain --analyze",
        )
    with client:
        print(client.request("analyze", name=name).header["text"])


@commands.command("versions")
def versions_command(
    context: typer.Context,
    name: NameArgument,
    data: DataOption = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """List the texts that a query or a model has had, newest first, and where in the logs each took effect.

    The newest 20 are kept. A query that is dropped has none.

    Example: nilometer queries versions smoky --data field/
    """
    server, token = (server, token) if server is not None else context.meta.get("server", (None, None))
    if server is not None:
        from nilometer.cli import remote

        with remote.open_server(server, token, data) as there:
            found = there.versions(name)
    else:
        found = database_of(*_given(context, data, catalog)).versions(name)
    if not found:
        message(f"{name} has no version yet: the first serve or run takes it up")
    if json:
        print_records(found, json)
        return
    for version in found:
        where = ", ".join(f"{stream}@{position}" for stream, position in version["offsets"].items())
        version["offsets"], version["text"] = where, " ".join(version["text"].split())
        version["current"] = "yes" if version["current"] else None
    print_records(found, json)


@commands.command("dead")
def dead_command(
    context: typer.Context,
    name: NameArgument,
    count: Annotated[int, typer.Option("-n", "--lines", min=1, help="How many of the last letters.")] = 20,
    data: DataOption = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
) -> None:
    """Show the rows that a query has set aside because a value cannot be given, with the reason.

    An INT that overflows or a CAST of what is no number does not stop a query, unless it was declared with ON ERROR STOP.

    Example: nilometer queries dead smoky --data field/
    """
    from json import dumps

    from nilometer.live.dead_letters import dead_letters
    from nilometer.live.query_list import query_state
    from nilometer.live.upkeep import known
    from nilometer.printable import printable

    database = database_of(*_given(context, data, catalog))
    directory, name = known(database, name)
    found = dead_letters(directory, name, count)
    if not json:
        for letter in found:
            letter["reason"] = printable(letter["reason"])
            letter["row"] = (
                None if letter["row"] is None else printable(dumps(letter["row"], ensure_ascii=False))
            )
    print_records(found, json)
    dead = query_state(database, directory, name, time.time_ns() // 1_000).dead
    message(f"{name} has set {dead} row{'' if dead == 1 else 's'} aside")


@commands.command("drop")
def drop_command(
    context: typer.Context,
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    data: DataOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Delete a query's state and all its answers, even if the query is no longer declared.

    The retention of the streams' logs no longer waits for the query.

    Example: nilometer queries drop smoky --data field/ --yes
    """
    from nilometer.errors import ConfigurationError
    from nilometer.live.upkeep import drop, remains

    database = database_of(*_given(context, data, catalog))
    found = remains(database, name)
    parts = [f"{found.rows} row{'' if found.rows == 1 else 's'} of answers ({format_bytes(found.answers)})"]
    parts += [f"{format_bytes(found.state)} of state"] if found.state else []
    parts += [f"{format_bytes(found.replaced)} of replaced answers"] if found.replaced else []
    message(f"{found.name}: {', '.join(parts)}")
    if found.held:
        message(
            f"retention waits for it in the log{'' if len(found.held) == 1 else 's'} of {', '.join(found.held)}"
        )
    if not yes and not sys.stdin.isatty():
        raise ConfigurationError(
            f"'{found.name}' is dropped only if you say so", hint="add --yes to delete all of it"
        )
    if not yes:
        typer.confirm("Delete it all?", abort=True, err=True)
    left = drop(database, name)
    message(f"{found.name} is dropped")
    if left is not None:
        message(f"its checkpoint could not be deleted and is of no use any more: {left}")
    if found.declared:
        message(
            "it is still declared, so the next run starts it again: delete its CREATE QUERY to prevent that"
        )


@commands.command("replay")
def replay_command(
    context: typer.Context,
    name: NameArgument,
    start: Annotated[
        str,
        typer.Option("--from", metavar="beginning|TIME", help="Where in the logs the query begins again."),
    ] = "beginning",
    data: DataOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Run a query again over the logs, from their beginning or from a time.

    The answers so far are moved aside, not deleted.

    Example: nilometer queries replay smoky --data field/ --from 2026-03-01T06:00:00Z
    """
    from nilometer.live.starts import start_of
    from nilometer.live.upkeep import known, replay

    database = database_of(*_given(context, data, catalog))
    done = replay(database, name, start_of(start))
    _, name = known(database, name)
    if done.aside is not None:
        message(f"{done.rows} row{'' if done.rows == 1 else 's'} of answers moved to {done.aside}")
    where = "at the beginning of the logs" if start.strip().lower() == "beginning" else f"at {start}"
    message(f"{name} begins again {where} when it is run next: {done.readings} readings lie ahead of it")


@commands.command("trim")
def trim_command(
    context: typer.Context,
    name: NameArgument,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="Delete answers committed longer ago than this: 30m, 12h, 7d, 2w.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep", metavar="SIZE", help="Delete the oldest answers beyond this size: 500kB, 20MB, 2GB."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also delete undelivered rows; a sink learns how many it lost."),
    ] = False,
    data: DataOption = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
) -> None:
    """Delete a query's old answers, by age or by size; the query may be running.

    Answers are deleted only after every sink of the query has received them.

    Example: nilometer queries trim smoky --data field/ --older-than 30d
    """
    from nilometer.cli.log import age_of
    from nilometer.errors import ConfigurationError
    from nilometer.live.answer_retention import OWN, trim_answers
    from nilometer.live.version_retention import trim_versions

    if older_than is None and keep is None:
        raise ConfigurationError(
            "nothing says which answers are to be deleted", hint="add --older-than 30d, or --keep 2GB"
        )
    database = database_of(*_given(context, data, catalog))
    before = None if older_than is None else time.time_ns() // 1_000 - age_of(older_than)
    done = trim_answers(
        database, name, before=before, keep=None if keep is None else size_of(keep), force=force
    )
    if done.held_by == OWN:
        message(
            f"{done.name}: the rest is needed until its text changes: an older version of Nilometer wrote it"
        )
    elif done.held_by is not None:
        message(f"{done.name}: the rest waits for reader '{done.held_by}' (--force deletes it all the same)")
    versions = trim_versions(database, name)
    if versions:
        message(
            f"{done.name}: {versions} versions of its tables were deleted: no reading in the logs needs them"
        )
    record = {"query": done.name, "segments": done.segments, "rows": done.rows, "bytes": done.size}
    print_records([record], json)


def list_queries(data: str | None, json: bool, catalog: str | None) -> None:
    """Print one line per standing query."""
    found = database_of(data, catalog).queries()
    print_records([_json(one) if json else _text(one) for one in found], json)
    if not found:
        message("there are no standing queries; declare one in schema.sql: CREATE QUERY wet AS SELECT ...")
    if json:
        return
    for one in found:
        if one.changed:
            message(f"{one.name} has changed since it last ran: its next run begins a new version")
        if one.trouble is not None:
            message(f"{one.name}: {one.trouble}")
        if one.dead:
            message(
                f"{one.name} has set {one.dead} row{'' if one.dead == 1 else 's'} aside: queries dead {one.name}"
            )


def _given(context: typer.Context, data: str | None, catalog: str | None) -> tuple[str | None, str | None]:
    before, catalog_before = context.obj or (None, None)
    return data or before, catalog or catalog_before


def _json(state: QueryState) -> dict[str, Any]:
    from nilometer.types import SECOND, format_time

    return state.as_dict() | {
        "watermark": None if state.watermark is None else format_time(state.watermark),
        "lag": None if state.lag is None else state.lag / SECOND,
        "when": None if state.when is None else format_time(state.when),
    }


def _text(state: QueryState) -> dict[str, Any]:
    from nilometer.types import format_time

    completeness = state.completeness
    return {
        "query": state.name,
        "state": state.state.value,
        "host": state.host,
        "version": state.version,
        "rows": state.rows,
        "behind": state.behind,
        "late": state.late,
        "shed": state.shed,
        "dead": state.dead,
        "watermark": None if state.watermark is None else format_time(state.watermark),
        "lag": None if state.lag is None else duration_text(state.lag),
        "batch": None if state.batch_milliseconds is None else f"{state.batch_milliseconds} ms",
        "held": None if state.state_bytes is None else format_bytes(state.state_bytes),
        "complete": None if completeness is None else f"{completeness:.1%}",
    }


def duration_text(microseconds: int) -> str:
    """A length of time for people.

    >>> (
    ...     duration_text(1_250_000),
    ...     duration_text(-3_000_000),
    ...     duration_text(5_400_000_000),
    ...     duration_text(900_000_000_000),
    ... )
    ('1.2 s', '-3.0 s', '90 min', '10 days')
    """
    seconds = microseconds / 1_000_000
    for unit, size, least in (("days", 86_400, 172_800), ("h", 3_600, 7_200), ("min", 60, 120)):
        if abs(seconds) >= least:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s"
