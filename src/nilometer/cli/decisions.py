"""`nilometer decisions`: what was decided and why; acknowledge or overrule it."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of
from nilometer.errors import ConfigurationError

if TYPE_CHECKING:
    from nilometer.engine import Database

commands = typer.Typer(
    help="Look after the decisions: list, show, acknowledge, overrule.", invoke_without_command=True
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the decision.")]
PositionArgument = Annotated[
    int, typer.Argument(metavar="POSITION", min=0, help="Which one, as `show` counts them.")
]
NoteOption = Annotated[str | None, typer.Option("--note", help="A remark for the audit.")]


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.add_typer(commands, name="decisions")


@commands.callback()
def decisions(
    context: typer.Context, data: DataOption = None, json: JsonOption = False, catalog: CatalogOption = None
) -> None:
    """List the declared decisions, or look after one.

    Example: nilometer decisions --data field/
    """
    if context.invoked_subcommand is None:
        print_records(_database(data, catalog).show("DECISIONS"), json)


@commands.command("show")
def show_command(
    name: NameArgument,
    data: DataOption = None,
    start: Annotated[
        int | None, typer.Option("--from", min=0, help="The first; default: the newest.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many.")] = 20,
    json: JsonOption = False,
    catalog: CatalogOption = None,
) -> None:
    """Show what was decided: the action, the reason, the evidence, and what people said about it.

    Example: nilometer decisions show act --data field/
    """
    from nilometer.live.verdicts import decision_of
    from nilometer.live.verdicts import decisions as found_from

    database = _database(data, catalog)
    found = found_from(database, decision_of(database, name).name, start, limit)
    if not json:
        for one in found:
            last = one["verdicts"][-1] if one["verdicts"] else None
            one["verdict"] = None if last is None else f"{last['verdict']} by {last['person']}"
            del one["verdicts"]
            one["evidence"] = ", ".join(f"{column}: {value}" for column, value in one["evidence"].items())
    print_records(found, json)


@commands.command("acknowledge")
def acknowledge_command(
    name: NameArgument,
    position: PositionArgument,
    note: NoteOption = None,
    data: DataOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Say that it is done as was decided.

    Example: nilometer decisions acknowledge act 17 --data field/
    """
    _say(data, catalog, name=name, position=position, instead=None, note=note)


@commands.command("overrule")
def overrule_command(
    name: NameArgument,
    position: PositionArgument,
    instead: Annotated[str, typer.Option("--do", metavar="ACTION", help="What is done instead.")],
    note: NoteOption = None,
    data: DataOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Say that something else is done.

    Example: nilometer decisions overrule act 17 --do pass --note "a toy" --data field/
    """
    _say(data, catalog, name=name, position=position, instead=instead, note=note)


def _say(data: str | None, catalog: str | None, **fields: Any) -> None:
    database = _database(data, catalog)
    assert database.keeping is not None, "a data directory keeps its declarations"
    message(str(database.keeping.request("decide", by=getpass.getuser(), **fields)["told"]))


def _database(data: str | None, catalog: str | None) -> Database:
    database: Database = database_of(data, catalog)
    if database.keeping is None:
        raise ConfigurationError("decisions are kept in a data directory", hint="give --data DIR")
    database.refresh()
    return database
