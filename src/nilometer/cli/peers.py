"""`nilometer peers`: the ring of gateways that this one belongs to, its streams, joins and load."""

from __future__ import annotations

from typing import Any

import typer

from nilometer.cli.console import print_json, print_records
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, database_of
from nilometer.printable import printable_text


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("peers")(peers)


def peers(data: DataOption = None, json: JsonOption = False, catalog: CatalogOption = None) -> None:
    """Show the gateways of the ring, the streams that each of them has, the joins among them, and their load.

    Example: nilometer peers --data field/
    """
    from nilometer.errors import ConfigurationError
    from nilometer.live.owner.client import find_owner

    base = database_of(data, catalog).data.base
    client = None if base is None else find_owner(base)
    if client is None:
        raise ConfigurationError(
            "nobody serves this directory", hint="start `nilometer serve --peer HOST:PORT`"
        )
    with client:
        found = client.request("peers").header
    if json:
        print_json(found)
        return
    me = found["me"]
    state = "a member" if found["member"] else "not yet a member"
    _say(f"{me['name']} at {me['address']}, {state} of the ring, owns the keys {found['owns']}")
    for title, records in (("ring", _ring(found)), ("streams", found["streams"]), ("joins", _joins(found))):
        if records:
            _say(f"\n{title}:")
            print_records(records, False)
    _say("\nload: " + ", ".join(f"{name} {count:,}" for name, count in found["load"].items()))
    for reason, count in found["refused"].items():
        _say(f"refused {count}: {reason}")
    for address, why in found["troubles"].items():
        _say(f"peer at {address}: {why}")
    for name, note in found["notes"].items():
        _say(f"{name}: {note}")
    if found["lost"]:
        _say(f"not reached: {', '.join(found['lost'])}")


def _ring(found: dict[str, Any]) -> list[dict[str, Any]]:
    """A line for each peer, in the order of the ring, ourselves included."""
    roles = {one["address"]: one["known as"] for one in found["peers"]}
    counts = ("rows kept", "results", "overdue", "shed", "lost")
    return [
        {
            "name": one["name"],
            "address": one["address"],
            "id": one["id"],
            "arc": "" if one["share"] is None else f"{one['share']:.1%}",
            "state": one["state"],
            "known as": "this one" if one["here"] else roles.get(one["address"], ""),
            "heard": "" if one["heard"] is None or one["here"] else f"{one['heard']:g} s ago",
        }
        | {name: (one["load"] or {}).get(name, "") for name in counts}
        for one in found["ring"]
    ]


def _joins(found: dict[str, Any]) -> list[dict[str, Any]]:
    """A line for each join; the text is in --json."""
    return [{name: value for name, value in one.items() if name != "text"} for one in found["joins"]]


def _say(text: str) -> None:
    """A line of the report: to the same place as its tables, so that a pager or a file has all of it in order."""
    print(printable_text(text), flush=True)
