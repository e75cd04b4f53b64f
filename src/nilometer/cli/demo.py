"""`nilometer demo`: live queries over simulated sensors."""

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
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="Run for this many seconds.")] = 20.0,
    sensors: Annotated[int, typer.Option("--sensors", min=4, help="The number of sensors.")] = 64,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the simulated readings.")] = 7,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keep the logs in this directory.")
    ] = None,
    on: LiveHostOption = "spark",
) -> None:
    """Run live queries over simulated sensors, which sense only what the queries need; ends by itself.

    Example: nilometer demo --seconds 10
    """
    from nilometer.engine.hosts import host_name
    from nilometer.laboratory.demo import run_demo

    run_demo(seconds=None if stay else seconds, sensors=sensors, seed=seed, keep=keep, on=host_name(on))
