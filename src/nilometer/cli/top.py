"""`nilometer top`: what every query of a running database does, as a screen that renews itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nilometer.cli.console import message, print_json, print_records
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of
from nilometer.types import format_bytes, format_time

if TYPE_CHECKING:
    from rich.table import Table

ORDERS = ("cpu", "in", "out", "late", "state", "lag", "name")


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("top")(top)


def top(
    data: DataOption = None,
    once: Annotated[bool, typer.Option("--once", help="Print once, and end.")] = False,
    every: Annotated[float, typer.Option("--every", min=0.1, help="Seconds between two looks.")] = 2.0,
    order: Annotated[
        str, typer.Option("--order", metavar="|".join(ORDERS), help="What the queries are ordered by.")
    ] = "cpu",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Show at most this many queries.")
    ] = None,
    json: JsonOption = False,
    catalog: CatalogOption = None,
) -> None:
    """Show what the queries of a running database do: rows in and out, late readings, computing time, state and lag.

    Standing queries and those of clients, on the gateway and on Spark. An operator that several queries
    share counts for each with its part; the last column says with how many others it is shared.

    Example: nilometer top --data field/

    Example: nilometer top --data field/ --once --json
    """
    from nilometer.catalog.near_misses import near_misses
    from nilometer.errors import ConfigurationError
    from nilometer.live.owner.client import find_owner
    from nilometer.live.owner.owner import OwnerGoneError

    if order not in ORDERS:
        raise ConfigurationError(f"queries cannot be ordered by '{order}'", hint=near_misses(order, ORDERS))
    base = database_of(data, catalog).data.base
    client = None if base is None else find_owner(base)
    if client is None:
        raise ConfigurationError("nobody runs queries here", hint="start `nilometer serve`")
    with client:
        found: Mapping[str, Any] = client.request("top").header
        if once:
            _print_once(found, json, order, limit)
            return
        try:
            if json:
                while True:
                    _print_once(found, json, order, limit)
                    time.sleep(every)
                    found = client.request("top").header
            from rich.live import Live

            with Live(screen=True, auto_refresh=False) as screen:
                before: Mapping[str, Any] | None = None
                while True:
                    screen.update(_screen(found, before, order, limit), refresh=True)
                    time.sleep(every)
                    before, found = found, client.request("top").header
        except KeyboardInterrupt:
            pass
        except OwnerGoneError:
            message("the owner has gone")


def _print_once(found: Mapping[str, Any], json: bool, order: str, limit: int | None) -> None:
    if json:
        for query in _ordered(found, None, order, limit):
            print_json(query | {"when": format_time(found["when"])})
        return
    print_records([_row(query, None) for query in _ordered(found, None, order, limit)], False)
    message(_headline(found))


def _ordered(
    found: Mapping[str, Any], before: Mapping[str, Any] | None, order: str, limit: int | None
) -> list[dict[str, Any]]:
    """The queries, the busiest first. With an earlier look, what they did since."""
    old = {} if before is None else {query["query"]: query for query in before["queries"]}
    seconds = 0.0 if before is None else (found["when"] - before["when"]) / 1e6
    queries = []
    for query in found["queries"]:
        was = old.get(query["query"])
        rates = {}
        if was is not None and seconds > 0:
            for name in ("rows_in", "rows_out", "seconds"):
                rates[f"{name}_rate"] = max(0, query[name] - was[name]) / seconds
        queries.append({**query, **rates})
    keys = {
        "cpu": lambda one: -one.get("seconds_rate", one["seconds"]),
        "in": lambda one: -one.get("rows_in_rate", one["rows_in"]),
        "out": lambda one: -one.get("rows_out_rate", one["rows_out"]),
        "late": lambda one: -one["late"],
        "state": lambda one: -(one["state_bytes"] or 0),
        "lag": lambda one: -(one["lag"] or 0),
        "name": lambda one: one["query"],
    }
    return sorted(queries, key=keys[order])[:limit]


def _row(query: Mapping[str, Any], before: object) -> dict[str, str]:
    shown = {
        "query": query["query"],
        "kind": query["kind"],
        "host": query["host"],
        "in": f"{query['rows_in']:,}",
        "out": f"{query['rows_out']:,}",
    }
    if before is not None:
        shown |= {
            "in/s": _rate(query.get("rows_in_rate")),
            "out/s": _rate(query.get("rows_out_rate")),
            "cpu": "" if "seconds_rate" not in query else f"{100 * query['seconds_rate']:.1f} %",
        }
    return shown | {
        "time": f"{query['seconds']:.3f} s",
        "late": f"{query['late']:,}",
        "state": "" if query["state_bytes"] is None else format_bytes(query["state_bytes"]),
        "lag": "" if query["lag"] is None else _lag(query["lag"]),
        "shared": str(query["shared"] or ""),
        "trouble": query["trouble"] or "",
    }


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def _lag(microseconds: int) -> str:
    from nilometer.cli.queries import duration_text

    return duration_text(microseconds)


def _headline(found: Mapping[str, Any]) -> str:
    owner, queries = found["owner"], found["queries"]
    streams = ", ".join(f"{stream['stream']} {stream['rate']:,.1f}/s" for stream in found["streams"])
    return (
        f"process {owner['pid']}, `{owner['command']}`, since {format_time(owner['since'])};"
        f" {len(queries) + found['left_out']} queries, {found['clients']} client{'' if found['clients'] == 1 else 's'}; {streams or 'no streams'}"
    )


def _screen(
    found: Mapping[str, Any], before: Mapping[str, Any] | None, order: str, limit: int | None
) -> Table:
    from rich.table import Table

    rows = [_row(query, before or found) for query in _ordered(found, before, order, limit)]
    table = Table(title=_headline(found), box=None, expand=True, title_justify="left")
    numbers = {"in", "out", "in/s", "out/s", "cpu", "time", "late", "state", "lag", "shared"}
    for name in rows[0] if rows else ("no query runs",):
        table.add_column(name, justify="right" if name in numbers else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row.values())
    return table
