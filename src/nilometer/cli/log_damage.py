"""`nilometer log verify` and `nilometer log repair`: find damage in a data directory, and make it readable again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nilometer.cli.console import message, print_records
from nilometer.cli.options import JsonOption

if TYPE_CHECKING:
    from nilometer.log import LogDirectory
    from nilometer.log.repair import Repaired
    from nilometer.log.verify import Verdict

PlaceOption = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="DIR_OR_URL",
        envvar="NILOMETER_DATA",
        help="The data directory (its logs are in .nilometer/log), or a URL such as s3://bucket/field.",
    ),
]
StreamsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[STREAM]...", help="The streams; all of them, and all queries, if none is named."
    ),
]
QueryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--query", metavar="NAME", help="The answers and the state of this standing query; may be repeated."
    ),
]


def verify(
    streams: StreamsArgument = None,
    query: QueryOption = None,
    data: PlaceOption = ".",
    json: JsonOption = False,
) -> None:
    """Check the logs, the answers and the states: checksums, gaps, lost ends; exits with 1 if anything is damaged.

    Without a name, everything is checked: the log of each stream, and of each standing query its result logs,
    the versions of its tables and its checkpoint; and what all queries share, the commit log and the saved states.

    Example: nilometer log verify --data field/
    """
    from nilometer.live.damage import verify_query, verify_shared

    directory = _directory(data)
    damaged = 0
    for name in _streams(directory, streams, query):
        damaged += _tell({"stream": name}, name, directory.existing(name, lost=True).verify(), json)
    for name in _queries(data, streams, query):
        for checked in verify_query(Path(data), name):
            told = {"query": name, "part": checked.part}
            damaged += _tell(told, f"query {name}, {checked.part}", checked.verdict, json)
    if _with_queries(data, streams, query):
        for checked in verify_shared(Path(data)):
            damaged += _tell(
                {"query": None, "part": checked.part}, f"all queries, {checked.part}", checked.verdict, json
            )
    if damaged:
        if not json:
            message(f"{damaged} damage{'' if damaged == 1 else 's'}; nilometer log repair keeps what is left")
        raise typer.Exit(1)


def repair(
    streams: StreamsArgument = None,
    query: QueryOption = None,
    data: PlaceOption = ".",
    json: JsonOption = False,
) -> None:
    """Keep what can be read of damaged logs, move damaged files aside, and put on record what is lost.

    Nothing is deleted: damaged files are in a folder `quarantine` beside the log. Stop `nilometer run` first.
    Afterwards the log goes on after the last position that anybody has read, and readers pass over the loss.
    A standing query keeps its answers; `nilometer queries replay NAME` answers again from what is left.

    Example: nilometer log repair river --data field/
    """
    from nilometer.live.damage import repair_query, repair_shared

    directory = _directory(data)
    done: list[tuple[dict[str, str], Repaired]] = []
    for name in _streams(directory, streams, query):
        done.append(({"stream": name}, directory.log(name).repair()))
    for name in _queries(data, streams, query):
        done += [({"query": name}, repaired) for repaired in repair_query(Path(data), name)]
    if _with_queries(data, streams, query):
        done += [({"query": "all"}, repaired) for repaired in repair_shared(Path(data))]
    for who, repaired in done:
        if json:
            lost = [
                {"from": loss.start.position, "to": loss.end.position, "rows": loss.rows, "why": loss.why}
                for loss in repaired.lost
            ]
            record: dict[str, Any] = {**who, "place": repaired.place, "moved": repaired.moved}
            print_records([record | {"lost": lost, "remarks": repaired.remarks}], True)
        elif repaired:
            _print_repaired(" ".join(next(iter(who.items()))), repaired)
    if not any(repaired for _, repaired in done) and not json:
        message("nothing is damaged")


# ---- in and out ------------------------------------------------------------------------------------------------------


def _directory(data: str) -> LogDirectory:
    from nilometer.log import LogDirectory
    from nilometer.log.results.committed import CommittedOffsets

    return LogDirectory(data, committed=None if "://" in data else CommittedOffsets(Path(data)))


def _streams(directory: LogDirectory, streams: list[str] | None, query: list[str] | None) -> list[str]:
    return streams or ([] if query else directory.streams(lost=True))


def _with_queries(data: str, streams: list[str] | None, query: list[str] | None) -> bool:
    return bool(query) or (not streams and "://" not in data)


def _queries(data: str, streams: list[str] | None, query: list[str] | None) -> Iterator[str]:
    from nilometer.live.damage import known_query, queries_of

    if query:
        yield from (known_query(Path(data), name) for name in query)
    elif _with_queries(data, streams, query):
        yield from queries_of(Path(data))


def _tell(told: dict[str, Any], name: str, verdict: Verdict, json: bool) -> int:
    damages = [{"file": d.segment, "start": d.start, "end": d.end, "what": d.what} for d in verdict.damages]
    lost = [{"from": loss.start.position, "to": loss.end.position} for loss in verdict.lost]
    tails, size = verdict.torn
    if json:
        record = {**told, "segments": verdict.segments, "records": verdict.records, "rows": verdict.rows}
        print_records(
            [record | {"bytes": verdict.size, "damages": damages, "lost": lost, "torn": tails}], True
        )
    else:
        state = "damaged" if damages else "whole"
        counts = f"{verdict.segments} segments, {verdict.records} records, {verdict.rows} rows"
        print(f"{name}: {state}: {counts if verdict.segments else f'{verdict.records} panes'}")
        for damage in verdict.damages:
            place = f", bytes {damage.start} to {damage.end}" if damage.end > damage.start else ""
            print(f"  {damage.segment}{place}: {damage.what}")
        for loss in verdict.lost:
            print(f"  on record: {loss} are lost: {loss.why}")
        if tails:
            print(
                f"  on record: {tails} torn tail{'' if tails == 1 else 's'} of {size} bytes cut off after crashes"
            )
    return len(damages)


def _print_repaired(who: str, repaired: Repaired) -> None:
    rows = repaired.rows
    print(f"{who}: {rows} row{'' if rows == 1 else 's'} lost, {len(repaired.moved)} files moved aside")
    for loss in repaired.lost:
        print(f"  lost: {loss}: {loss.why}")
    for name in repaired.moved:
        print(f"  moved aside: {repaired.place}/{name}")
    for remark in repaired.remarks:
        print(f"  {remark}")
