"""`nilometer fuzz`: give a parser inputs that nobody would send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("fuzz")(fuzz)


def fuzz(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="sql, json, senml, csv, segment, record, commits, state, nss, xml, toml, geojson, serial, or all.",
        ),
    ],
    seconds: Annotated[int, typer.Option("--seconds", min=1, help="How long to try each target.")] = 60,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides the mutations.")] = 0,
    atheris: Annotated[
        bool,
        typer.Option("--atheris", help="Be guided by coverage (./nilo python -m pip install atheris)."),
    ] = False,
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus",
            help="A folder with known inputs, a folder for each target; atheris adds those that reach new code.",
        ),
    ] = None,
) -> None:
    """Fuzz a parser: mutate known inputs, and report every exception that is not an error of ours.

    Example: nilometer fuzz sql --seconds 60

    Example: nilometer fuzz all --atheris --seconds 300 --corpus tests/laboratory/fuzz/corpus
    """
    import tempfile
    import time

    from nilometer.catalog.near_misses import near_misses
    from nilometer.cli.console import message
    from nilometer.errors import ConfigurationError
    from nilometer.laboratory.fuzz import run
    from nilometer.laboratory.fuzz.targets import targets

    known = targets()
    if name != "all" and name not in known:
        raise ConfigurationError(f"no target '{name}'", hint=near_misses(name, [*known, "all"]))
    chosen = list(known) if name == "all" else [name]
    failed = False
    for one in chosen:
        if atheris:
            with tempfile.TemporaryDirectory() as kept:
                tried, crashes = run.with_atheris(one, seconds, corpus or Path(kept))
        else:
            until = time.monotonic() + seconds
            inputs = known[one].corpus + (run.kept_corpus(corpus, one) if corpus is not None else ())
            found = run.fuzz(known[one], seed, lambda _, until=until: time.monotonic() < until, inputs)  # type: ignore[misc]
            tried, crashes = found.tried, found.crashes
        print(f"{one}: {tried:,} inputs, {len(crashes)} crashes", flush=True)
        for crash, data in crashes.items():
            message(f"  {crash}\n    {data[:300]!r}")
        failed |= bool(crashes)
    if failed:
        raise typer.Exit(1)
