"""`nilometer fuzz`: give a parser inputs that nobody would send."""

from __future__ import annotations

from typing import Annotated

import typer


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("fuzz")(fuzz)


def fuzz(
    name: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="sql, json, senml, csv, segment, nss, xml, serial, or all."),
    ],
    seconds: Annotated[int, typer.Option("--seconds", min=1, help="How long to try each target.")] = 60,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides the mutations.")] = 0,
    atheris: Annotated[
        bool, typer.Option("--atheris", help="Be guided by coverage (pip install atheris).")
    ] = False,
) -> None:
    """Fuzz a parser: mutate known inputs, and report every exception that is not an error of ours.

    Example: nilometer fuzz sql --seconds 60
    """
    import time

    from nilometer.catalog.near_misses import near_misses
    from nilometer.cli.console import message
    from nilometer.errors import ConfigurationError, ResourceError
    from nilometer.laboratory.fuzz import run
    from nilometer.laboratory.fuzz.targets import targets

    known = targets()
    if name != "all" and name not in known:
        raise ConfigurationError(f"no target '{name}'", hint=near_misses(name, [*known, "all"]))
    chosen = list(known) if name == "all" else [name]
    if atheris:
        if name == "all":
            raise ConfigurationError("atheris ends the process after one target", hint="name one")
        try:
            run.with_atheris(known[name], seconds)
        except ImportError as error:
            raise ResourceError("atheris is not installed", hint="pip install atheris") from error
    failed = False
    for one in chosen:
        until = time.monotonic() + seconds
        found = run.fuzz(known[one], seed, lambda _, until=until: time.monotonic() < until)  # type: ignore[misc]
        print(f"{one}: {found.tried:,} inputs, {len(found.crashes)} crashes")
        for crash, data in found.crashes.items():
            message(f"  {crash}\n    {data[:300]!r}")
        failed |= bool(found.crashes)
    if failed:
        raise typer.Exit(1)
