"""`nilometer demo`: the main job on a generated field, live."""

from __future__ import annotations

from typing import Annotated

import typer


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("demo")(demo)


def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Keep running until Ctrl-C.")] = False,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="How long to run.")] = 20.0,
    sensors: Annotated[int, typer.Option("--sensors", min=4, help="How many sensors.")] = 64,
    seed: Annotated[int, typer.Option("--seed", help="The field's seed.")] = 7,
) -> None:
    """Watch a simulated field answer continuous questions; ends by itself with a summary.

    Example: nilometer demo --seconds 10
    """
    from nilometer.laboratory.demo import run_demo

    run_demo(seconds=None if stay else seconds, sensors=sensors, seed=seed)
