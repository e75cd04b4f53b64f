"""`nilometer bench`: our speed relative to a peer's: same data, same run, same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.options import JsonOption


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("bench")(bench)


def bench(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="One of operators, edge, memory, placement, simulator, queries, http, sensorthings, phenomena, mining, prediction, compression, truth, guided, overlay, joins, spark.",
        ),
    ],
    json: JsonOption = False,
    rows: Annotated[int, typer.Option("--rows", min=1000, help="The number of readings.")] = 1_000_000,
    sensors: Annotated[
        int | None,
        typer.Option("--sensors", min=1, help="The number of sensors; default: 1,000, joins 2,000."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="PART",
            help="spark, joins, overlay, phenomena, queries: run only this part, such as hop60x1 or strings; may be repeated.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="spark, joins: a short trial, with fewer readings and one run per side."
        ),
    ] = False,
    peers: Annotated[
        bool, typer.Option("--peers", help="spark: also run PyFlink and Pathway, if installed.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="DIR", help="spark: draw pictures into this directory.")
    ] = None,
) -> None:
    """Run a benchmark and print our result beside a peer's.

    Example: nilometer bench operators --rows 1000000
    """
    from json import dumps

    from nilometer.cli.console import message
    from nilometer.laboratory import benchmarks
    from nilometer.laboratory.benchmarks.registry import check

    check(benchmarks.NAMES, name, "benchmark")
    if name != benchmarks.SPARK:
        parts = name in (benchmarks.JOINS, benchmarks.OVERLAY, benchmarks.PHENOMENA, benchmarks.QUERIES)
        if peers or plot or (only and not parts) or (quick and name != benchmarks.JOINS):
            raise typer.BadParameter(
                "--only is for bench spark, joins, overlay, phenomena and queries, --quick for bench spark and joins, "
                "--peers and --plot for bench spark"
            )
        if name == benchmarks.JOINS:
            result = benchmarks.joins(rows, sensors or 2_000, tuple(only or ()), quick, message)
        elif name == benchmarks.PHENOMENA:
            result = benchmarks.phenomena(rows, sensors or 1_000, tuple(only or ()), message)
        elif name == benchmarks.OVERLAY:
            result = benchmarks.overlay(rows, sensors or 1_000, tuple(only or ()))
        elif name == benchmarks.QUERIES:
            result = benchmarks.queries(rows, sensors or 1_000, tuple(only or ()))
        else:
            result = benchmarks.BENCHMARKS[name](rows, sensors or 1_000)
        print(dumps(result.as_dict(), ensure_ascii=False) if json else benchmarks.table(result))
        return
    from nilometer.laboratory.benchmarks import spark

    report = spark.spark(spark.Options(rows, sensors or 1_000, tuple(only or ()), quick, peers), message)
    print(dumps(report.as_dict(), ensure_ascii=False) if json else spark.table(report))
    if plot is not None:
        from nilometer.laboratory.benchmarks.spark.plots import plot as draw

        for path in draw(report, plot):
            message(f"wrote {path}")
