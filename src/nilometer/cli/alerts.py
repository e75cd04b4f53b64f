"""`nilometer alerts`: list a data directory's alerts, show what they sent, silence, acknowledge and test one."""

from __future__ import annotations

import getpass
import json as json_module
import re
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of
from nilometer.errors import ConfigurationError
from nilometer.types import DAY, HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    from nilometer.catalog import QueryDefinition
    from nilometer.engine import Database

commands = typer.Typer(
    help="Look after the alerts: list, deliveries, silence, speak, acknowledge, test.",
    invoke_without_command=True,
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the alert.")]
GroupOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="COLUMN=VALUE", help="Only this group of the alert; may be repeated."),
]
_LENGTH = re.compile(r"(\d+)(s|m|h|d)")
_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.add_typer(commands, name="alerts")


@commands.callback()
def alerts(
    context: typer.Context, data: DataOption = None, json: JsonOption = False, catalog: CatalogOption = None
) -> None:
    """List the alerts and their state, or look after one.

    Example: nilometer alerts --data field/
    """
    if context.invoked_subcommand is None:
        list_command(data, json, catalog)


@commands.command("list")
def list_command(data: DataOption = None, json: JsonOption = False, catalog: CatalogOption = None) -> None:
    """List the alerts: which fire, how often they fired, and what became of their messages.

    Example: nilometer alerts list --data field/ --json
    """
    from nilometer.live.alerts.listing import alert_list

    found = alert_list(_database(data, catalog))
    print_records([one.as_dict() if json else one.summary() for one in found], json)


@commands.command("deliveries")
def deliveries_command(
    name: NameArgument,
    data: DataOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, newest first.")] = 50,
    json: JsonOption = False,
    catalog: CatalogOption = None,
) -> None:
    """Show the alert's decisions and what became of each message, newest first.

    Example: nilometer alerts deliveries smoky --data field/
    """
    from nilometer.live.alerts.listing import deliveries

    database, definition = _alert(data, catalog, name)
    found = list(islice(deliveries(_base(database), definition), limit))
    if not json:
        hidden = ("incident", "row")
        found = [
            {k: _spoken(v) if k == "group" else v for k, v in one.items() if k not in hidden} for one in found
        ]
    print_records(found, json)


@commands.command("silence")
def silence_command(
    name: NameArgument,
    lasting: Annotated[str, typer.Option("--for", metavar="DURATION", help="30m, 2h, 1d.")],
    data: DataOption = None,
    group: GroupOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Tell nobody of an alert for a while. It is still decided and recorded what fires.

    Example: nilometer alerts silence smoky --for 2h --group id=a1 --data field/
    """
    found = _LENGTH.fullmatch(lasting)
    if found is None:
        raise ConfigurationError(f"'{lasting}' is no length of time", hint="write 30m, 2h or 1d")
    until = time.time_ns() // 1_000 + int(found[1]) * _UNITS[found[2]]
    _say(data, catalog, name, group, "silence", until)


@commands.command("speak")
def speak_command(
    name: NameArgument, data: DataOption = None, group: GroupOption = None, catalog: CatalogOption = None
) -> None:
    """End a silence. What fires since then, and still does, is told with its next row.

    Example: nilometer alerts speak smoky --data field/
    """
    _say(data, catalog, name, group, "silence", None)


@commands.command("acknowledge")
def acknowledge_command(
    name: NameArgument, data: DataOption = None, group: GroupOption = None, catalog: CatalogOption = None
) -> None:
    """Say that you take care of what fires. It is not said again.

    Example: nilometer alerts acknowledge smoky --group id=a1 --data field/
    """
    _say(data, catalog, name, group, "acknowledge", None)


@commands.command("test")
def try_command(name: NameArgument, data: DataOption = None, catalog: CatalogOption = None) -> None:
    """Send a test message to the alert's address, now, from this process.

    Example: nilometer alerts test smoky --data field/
    """
    from nilometer.live.alerts.trial import send_test

    database, definition = _alert(data, catalog, name)
    message(f"{definition.name}: the test message {send_test(_base(database), definition)} was taken")


def _say(
    data: str | None, catalog: str | None, name: str, group: list[str] | None, what: str, until: int | None
) -> None:
    database, definition = _alert(data, catalog, name)
    if database.keeping is None:
        raise ConfigurationError("only the alerts of a data directory run", hint="give --data DIR")
    fields: dict[str, Any] = {"what": what, "name": definition.name, "until": until, "by": getpass.getuser()}
    message(str(database.keeping.request("alert", group=_group(definition, group), **fields)["told"]))


def _group(definition: QueryDefinition, said: list[str] | None) -> dict[str, Any] | None:
    from nilometer.types import Kind

    kinds = {column.name.lower(): column.type.kind for column in definition.columns}
    found: dict[str, Any] = {}
    for one in said or ():
        name, equals, text = one.partition("=")
        if not equals:
            raise ConfigurationError(f"--group takes COLUMN=VALUE, not '{one}'")
        plain = kinds.get(name.lower()) is Kind.STRING
        try:
            found[name] = text if plain else json_module.loads(text)
        except ValueError:
            found[name] = text
    return found or None


def _database(data: str | None, catalog: str | None) -> Database:
    database: Database = database_of(data, catalog)
    return database


def _alert(data: str | None, catalog: str | None, name: str) -> tuple[Database, QueryDefinition]:
    from nilometer.live.alerts.listing import definition_of

    database = _database(data, catalog)
    database.refresh()
    return database, definition_of(database, name)


def _base(database: Database) -> Path:
    if database.data.base is None:
        raise ConfigurationError("alerts run in a data directory", hint="give --data DIR")
    return database.data.base


def _spoken(values: dict[str, object] | None) -> str:
    """A group as people write it in --group; empty for an alert without groups."""
    return ", ".join(f"{name}={value}" for name, value in (values or {}).items())
