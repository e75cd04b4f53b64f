"""`nilometer backup` and `nilometer restore`: copy a data directory while it runs, and put the copy back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import DataOption, JsonOption
from nilometer.types import format_bytes, format_time


def register(application: typer.Typer) -> None:
    """Add the verbs."""
    application.command("backup")(backup)
    application.command("restore")(restore)


def backup(
    places: Annotated[
        list[Path],
        typer.Argument(
            metavar="[DIR] TARGET",
            help="The data directory, if --data does not name it; and a new or empty directory for the copy.",
        ),
    ],
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Copy a data directory, with its streams, answers and states, as it is at one moment.

    The database goes on meanwhile, and stands still only while what has changed since is copied.
    A backup that was interrupted is not complete, and cannot be restored.

    Example: nilometer backup field/ /backups/field-2026-11-18
    """
    from nilometer.errors import ConfigurationError
    from nilometer.live.backup import back_up
    from nilometer.live.owner.client import find_owner
    from nilometer.live.owner.lock import OwnerLock

    *first, target = places
    directory = _data_directory(first, data, "backup [DIR] TARGET")
    if not directory.is_dir():
        raise ConfigurationError(f"there is no directory '{directory}'")
    client = find_owner(directory)
    if client is not None:
        with client:
            told: dict[str, Any] = client.request("backup", target=str(target.absolute())).header
    else:
        lock = OwnerLock(directory, embedded=True)

        def still(call: Callable[[], None]) -> None:
            call()

        try:
            told = back_up(directory, target, still)
        finally:
            lock.release()
    told = {name: told[name] for name in ("files", "bytes", "paused_milliseconds")}
    if json:
        print_records([told], True)
        return
    message(
        f"{directory} is in {target}: {told['files']} files, {format_bytes(told['bytes'])}; "
        f"the database stood still for {told['paused_milliseconds']} ms"
    )


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A backup that is complete.")],
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]", help="The data directory, if --data does not name it: new or empty."),
    ] = None,
    data: DataOption = None,
    new_identity: Annotated[
        bool,
        typer.Option(
            "--new-identity",
            help="The original goes on beside it: let brokers know this one under a name of its own.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Put a backup back. Every byte is compared with what was backed up, then all logs are verified.

    Example: nilometer restore /backups/field-2026-11-18 field/
    """
    from nilometer.cli.log_damage import verify
    from nilometer.live.backup import read_mark
    from nilometer.live.backup import restore as put_back

    directory = _data_directory(places or [], data, "restore BACKUP [DIR]")
    mark = read_mark(backup)
    files = put_back(backup, directory, new_identity=new_identity)
    message(
        f"{files} files of {format_time(mark['when'])}, of nilometer {mark['release']}, are in {directory}"
    )
    verify(data=str(directory), json=json)


def _data_directory(named: list[Path], data: str | None, usage: str) -> Path:
    """The one data directory, which is named by its place or by --data. A place counts more than the environment."""
    from nilometer.errors import ConfigurationError

    if named and data == os.environ.get("NILOMETER_DATA"):
        data = None
    if len(named) + (data is not None) > 1:
        told = ", ".join(f"'{one}'" for one in [*named, *([data] if data else [])])
        raise ConfigurationError(f"{told}: which one is the data directory?", hint=f"nilometer {usage}")
    if not named and data is None:
        raise ConfigurationError("which data directory?", hint=f"nilometer {usage}, or --data DIR")
    return named[0] if named else Path(str(data))
