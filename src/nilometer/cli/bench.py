"""`nilometer bench`: speed, as a ratio against a peer, same data, same run, same answers."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.options import JsonOption


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("bench")(bench)


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="operators or edge")],
    json: JsonOption = False,
    rows: Annotated[int, typer.Option("--rows", min=1000, help="How many readings.")] = 1_000_000,
    sensors: Annotated[int, typer.Option("--sensors", min=1, help="Of how many sensors.")] = 1_000,
) -> None:
    """Run a benchmark and print ours beside the peer's.

    Example: nilometer bench operators --rows 1000000
    """
    from json import dumps

    from nilometer.laboratory.benchmarks import BENCHMARKS, table
    from nilometer.laboratory.benchmarks.registry import named

    result = named(BENCHMARKS, name, "benchmark")(rows, sensors)
    print(dumps(result.as_dict(), ensure_ascii=False) if json else table(result))
