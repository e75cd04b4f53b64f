"""`nilometer size`: how many peers, or Spark executors, a join of streams needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from nilometer.cli.console import print_json, print_records, read_sql
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("size")(size)


def size(
    sql: Annotated[
        str | None, typer.Argument(metavar="[SQL]", help="A join, whose rates and windows are taken.")
    ] = None,
    data: DataOption = None,
    rate: Annotated[
        list[float] | None,
        typer.Option("--rate", metavar="N", help="The tuples a second of a stream; once for each stream."),
    ] = None,
    window: Annotated[
        str | None, typer.Option("--window", metavar="DURATION", help="The window, such as '50 s'.")
    ] = None,
    memory: Annotated[
        float,
        typer.Option("--memory", metavar="ROWS", help="The tuples of each stream that a peer can keep."),
    ] = 100_000,
    completeness: Annotated[
        float,
        typer.Option("--completeness", metavar="SHARE", help="The share of the results that is wanted."),
    ] = 0.95,
    peers: Annotated[
        int | None, typer.Option("--peers", min=1, metavar="N", help="Say what so many peers find.")
    ] = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
) -> None:
    """Say how many peers, or Spark executors, a join needs to find a share of its results (DHTJoin, equations 7 to 12).

    The rates of a query are those that were measured in its directory, else as declared: the sensors of each stream and its
    interval. Both are printed.

    Example: nilometer size --rate 30 --rate 400 --window '50 s' --memory 100 --completeness 0.5

    Example: nilometer size "SELECT ..." --data field/ --memory 100000
    """
    from nilometer.engine.sizing import join_of, seconds_of
    from nilometer.errors import ConfigurationError
    from nilometer.overlay.sizing import size as size_of

    rates, windows, names = list(rate or ()), [], [f"stream {n + 1}" for n in range(len(rate or ()))]
    beside: list[dict[str, float | None]] = [{} for _ in rates]
    if sql is not None:
        join = join_of(database_of(data, catalog), read_sql(sql))
        names, windows = list(join.streams), list(join.windows)
        rates = rates or join.known_rates()
        beside = [
            {"measured/s": found, "declared/s": there}
            for found, there in zip(join.measured, join.declared, strict=True)
        ]
    if window is not None:
        windows = [seconds_of(window)] * len(rates)
    if len(windows) != len(rates) or not rates:
        raise ConfigurationError(
            "rates and windows are needed", hint="give a query, or --rate for each stream and --window '50 s'"
        )
    found = size_of(rates, windows, memory, completeness, peers)
    if json:
        print_json(asdict(found))
        return
    print_records(
        [
            {
                "stream": name,
                "rate/s": rate,
                **known,
                "window s": length,
                "tuples": tuples,
                "kept": f"{share:.1%}",
            }
            for name, rate, known, length, tuples, share in zip(
                names, rates, beside, windows, found.tuples, found.shares, strict=True
            )
        ],
        False,
    )
    print()
    print(f"peers: {found.peers}, which find {found.completeness:.1%} of the results (11, with caps)")
    print(f"  if every tuple probes before any is dropped: {found.probing:.1%}")
    print(
        f"  equation (12) without caps: {found.by_equation_12} peers, which find {found.at_equation_12:.1%}"
    )
    print(
        f"Spark: the same room in all, {found.peers * memory:,.0f} rows of each stream: executors x rows each keeps, "
        "by the hash of the key"
    )
