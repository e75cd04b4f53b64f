"""`nilometer demo`: the main job on a generated field, live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.options import LiveHostOption


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("demo")(demo)


def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Keep running until Ctrl-C.")] = False,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="How long to run.")] = 20.0,
    sensors: Annotated[int, typer.Option("--sensors", min=4, help="How many sensors.")] = 64,
    seed: Annotated[int, typer.Option("--seed", help="The field's seed.")] = 7,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keep the log in this directory.")
    ] = None,
    on: LiveHostOption = "spark",
) -> None:
    """Watch simulated sensors stream through a log into live queries, and do what the queries need; ends by itself.

    Example: nilometer demo --seconds 10
    """
    from nilometer.engine.hosts import host_name
    from nilometer.laboratory.demo import run_demo

    run_demo(seconds=None if stay else seconds, sensors=sensors, seed=seed, keep=keep, on=host_name(on))
