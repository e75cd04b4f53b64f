"""`nilometer log`: show, trim and replay the durable logs of a data directory."""

from __future__ import annotations

import json as json_text
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nilometer.cli.console import message, print_json, print_records, print_table, time_of
from nilometer.cli.options import AllowGapsOption, JsonOption
from nilometer.errors import ConfigurationError, DataError
from nilometer.printable import printable, printable_text
from nilometer.types import DAY, HOUR, MINUTE, SECOND, format_time

if TYPE_CHECKING:
    import polars as pl

    from nilometer.log import LogDirectory, StreamLog

commands = typer.Typer(
    help="Inspect the durable logs of the streams: ls, tail, dead, demand, verify, repair, trim, replay, reconstruct.",
    no_args_is_help=True,
)

PlaceOption = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="DIR_OR_URL",
        envvar="NILOMETER_DATA",
        help="The data directory (its logs are in .nilometer/log), or a URL such as s3://bucket/field.",
    ),
]
StreamArgument = Annotated[str, typer.Argument(metavar="STREAM", help="The name of the stream.")]
StreamsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[STREAM]...", help="The streams; all of them if none is named.")
]

SHOWN = 80
"""The number of bytes of a dead letter that are shown."""

POLL = 0.2
"""Seconds between two looks of `tail --follow` at the log."""

UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}


def register(application: typer.Typer) -> None:
    """Add the verb."""
    from nilometer.cli.log_damage import repair, verify

    commands.command("verify")(verify)
    commands.command("repair")(repair)
    application.add_typer(commands, name="log")


@commands.command("ls")
def list_logs(data: PlaceOption = ".", json: JsonOption = False) -> None:
    """List the streams that have a log: segments, rows, bytes, time range, and readers with their lag.

    Example: nilometer log ls --data field/
    """
    directory = _directory(data)
    records = [_listed(name, directory.log(name)) for name in directory.streams()]
    if json:
        print_records(records, True)
    else:
        shown = [record | {"readers": _lags(record["readers"])} for record in records]
        print_records([{k: v for k, v in record.items() if k != "missing"} for record in shown], False)
    if not records:
        message(f"no stream has a log in {data}")
    damaged = [f"{record['stream']}: {what}" for record in records for what in record["missing"]]
    for what in damaged:
        message(f"{what}; see nilometer log verify")
    if damaged:
        raise typer.Exit(1)


@commands.command("tail")
def tail(
    stream: StreamArgument,
    rows: Annotated[int, typer.Option("-n", "--rows", min=0, help="The number of rows.")] = 10,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new rows, until Ctrl-C.")] = False,
    allow_gaps: AllowGapsOption = False,
    data: PlaceOption = ".",
    json: JsonOption = False,
) -> None:
    """Show the last rows of a stream's log, with their positions.

    Example: nilometer log tail river -n 20 --follow
    """
    log = _directory(data, allow_gaps=allow_gaps).existing(stream)
    last = log.tail(rows)
    show = _writer("jsonl" if json or follow else "table")
    show(last)
    position = log.end.position
    while follow:
        sys.stdout.flush()
        time.sleep(POLL)
        for frame in log.scan(position, ["@position", *log.columns]):
            show(frame)
            position += frame.height


@commands.command("dead")
def dead(
    stream: StreamArgument,
    letters: Annotated[int, typer.Option("-n", "--letters", min=0, help="The number of dead letters.")] = 10,
    full: Annotated[bool, typer.Option("--full", help="Show whole payloads; --json always does.")] = False,
    data: PlaceOption = ".",
    json: JsonOption = False,
) -> None:
    """Show the last dead letters of a stream, with the reason and the bytes.

    A dead letter is a reading that was garbled or stamped in the future.

    Example: nilometer log dead river -n 20
    """
    found = _directory(data).existing(stream).letters(letters)
    records = [
        row
        | {
            "arrived": None if row["arrived"] is None else format_time(row["arrived"]),
            "payload": _payload(row["payload"], whole=full or json),
        }
        for row in found.iter_rows(named=True)
    ]
    print_records(records, json)
    if not records:
        message(f"{stream} has no dead letters")


def _payload(payload: bytes, *, whole: bool) -> str:
    if whole or len(payload) <= SHOWN:
        return payload.decode(errors="backslashreplace")
    return f"{payload[:SHOWN].decode(errors='backslashreplace')}... ({len(payload):,} bytes)"


@commands.command("demand")
def demand(stream: StreamArgument, data: PlaceOption = ".", json: JsonOption = False) -> None:
    """Show how the live queries' demand on a stream's sensors changed over time, oldest first.

    Example: nilometer log demand river
    """
    records = [_with_time(change) for change in _directory(data).existing(stream).demands()]
    if json:
        print_records(records, True)
    else:
        for record in records:
            asked = record["demand"] or "nothing: they may sleep"
            print(printable(f"{record['time']}  {record['event']} {record['query']}: {asked}"))
    if not records:
        message(f"nothing was ever demanded of {stream}")


def _with_time(change: dict[str, Any]) -> dict[str, Any]:
    return change | {"time": format_time(change["time"])}


@commands.command("trim")
def trim(
    streams: StreamsArgument = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="Only rows with a time longer ago than this: 30m, 12h, 7d, 2w; default: any.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also delete rows that a reader has not read yet; needs --older-than."),
    ] = False,
    summarised_by: Annotated[
        str | None,
        typer.Option(
            "--summarised-by",
            metavar="PHENOMENON",
            help="Only rows of its stream that a standing SELECT * FROM SUMMARY(PHENOMENON) has summarised.",
        ),
    ] = None,
    data: PlaceOption = ".",
    json: JsonOption = False,
) -> None:
    """Delete whole segments that are old and that every named reader has read.

    Example: nilometer log trim river --older-than 7d

    Example: nilometer log trim --summarised-by smoke --older-than 7d
    """
    if force and older_than is None:
        raise ConfigurationError(
            "--force alone would delete all but the last segment", hint="add --older-than 0s"
        )
    before = None if older_than is None else time.time_ns() // 1_000 - age_of(older_than)
    directory = _directory(data)
    records = []
    if summarised_by is not None:
        records = _trim_summarised(directory, data, summarised_by, streams, before, force=force)
    for name in streams or directory.streams() if summarised_by is None else ():
        done = directory.existing(name).trim(before, force=force)
        records.append({"stream": name, "segments": done.segments, "rows": done.rows, "bytes": done.size})
        if done.held_by is not None:
            message(f"{name}: the rest waits for reader '{done.held_by}' (--force deletes it all the same)")
    print_records(records, json)


def _trim_summarised(
    directory: LogDirectory,
    data: str,
    phenomenon: str,
    streams: list[str] | None,
    before: int | None,
    *,
    force: bool,
) -> list[dict[str, Any]]:
    from nilometer.cli.options import database_of
    from nilometer.live.summarised import covered_by, trim_covered

    covered = covered_by(database_of(data, None), phenomenon)
    if streams and [each.lower() for each in streams] != [covered.stream.lower()]:
        raise ConfigurationError(
            f"'{phenomenon}' is of the stream '{covered.stream}'",
            hint=f"name that one, or none: {covered.stream}",
        )
    if covered.left_out:
        message(f"not in the summary, and deleted with the rows: {', '.join(covered.left_out)}")
    done = trim_covered(directory, covered, before, force=force)
    if done.held_by is not None:
        message(
            f"{covered.stream}: the rest waits for reader '{done.held_by}' (--force deletes it all the same)"
        )
    return [{"stream": covered.stream, "segments": done.segments, "rows": done.rows, "bytes": done.size}]


@commands.command("reconstruct")
def reconstruct(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The standing query that keeps a SUMMARY.")],
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Only at the last summary up to this time.")
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Write CSV with a header instead of JSON lines.")
    ] = False,
    data: PlaceOption = ".",
) -> None:
    """Write what each sensor read at each summary: its phenomenon's mean, or that of its cell. Rows go to stdout.

    Example: nilometer log reconstruct smoke_summary --at 2018-11-09T04:00Z --csv
    """
    from nilometer.cli.options import database_of
    from nilometer.live.reconstructing import reconstruct as read_back

    rows = read_back(database_of(data, None), query, time_of(at))
    if rows.height:
        _writer("csv" if csv else "jsonl")(rows)
    message(f"{rows.height} row{'' if rows.height == 1 else 's'} of {query}")


@commands.command("replay")
def replay(
    stream: StreamArgument,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="From this time on.")] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Up to, but not including, this time.")
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Write CSV with a header instead of JSON lines.")
    ] = False,
    allow_gaps: AllowGapsOption = False,
    data: PlaceOption = ".",
    json: JsonOption = False,
) -> None:
    """Write the rows of a stream's log to stdout, in log order, as JSON lines or CSV.

    Example: nilometer log replay river --from 2026-03-01 --to 2026-03-02 > river.jsonl
    """
    if csv and json:
        raise ConfigurationError(
            "the rows are written as JSON lines or as CSV, not both", hint="leave one out"
        )
    log = _directory(data, allow_gaps=allow_gaps).existing(stream)
    span = (time_of(start), time_of(end))
    show = _writer("csv" if csv else "jsonl")
    rows = 0
    for frame in log.scan(time_range=None if span == (None, None) else span):
        show(frame)
        rows += frame.height
    for loss in log.lost:
        message(f"{stream}: {loss} are lost, by the log's records: {loss.why}")
    message(f"{rows} row{'' if rows == 1 else 's'} of {stream}")


# ---- in and out ------------------------------------------------------------------------------------------------------


def _directory(data: str, *, allow_gaps: bool = False) -> LogDirectory:
    from nilometer.log import LogDirectory
    from nilometer.log.segment import allow_gaps as allowing
    from nilometer.log.segment import refuse

    return LogDirectory(
        data, on_damage=allowing(lambda damage: message(damage.what)) if allow_gaps else refuse
    )


def _listed(name: str, log: StreamLog) -> dict[str, Any]:
    from nilometer.log import Offset

    missing: list[str] = []
    try:
        segments = log.segments()
        missing = log.gaps()
    except DataError as error:
        missing.append(error.message)
        segments = []
    least = [s.index.least_time for s in segments if s.index.least_time is not None]
    greatest = [s.index.greatest_time for s in segments if s.index.greatest_time is not None]
    end = Offset() if missing and not segments else log.end
    return {
        "stream": name,
        "segments": len(segments),
        "rows": sum(s.index.rows for s in segments),
        "bytes": sum(s.index.size for s in segments),
        "positions": [log.start.position, end.position],
        "from": format_time(min(least)) if least else None,
        "to": format_time(max(greatest)) if greatest else None,
        "lost": sum(loss.rows for loss in log.lost),
        "readers": {reader: end.position - at.position for reader, at in log.readers().items()},
        "missing": missing,
    }


def _lags(readers: dict[str, int]) -> str | None:
    return ", ".join(f"{name} -{lag}" if lag else name for name, lag in readers.items()) or None


def age_of(text: str) -> int:
    """`7d` in microseconds."""
    count, unit = text[:-1], text[-1:]
    if not count.isdigit() or unit not in UNITS:
        raise ConfigurationError(f"'{text}' is no age", hint="write it as 90s, 30m, 12h, 7d or 2w")
    return int(count) * UNITS[unit]


def _writer(form: str) -> Callable[[pl.DataFrame], None]:
    """A function that prints a frame: as a table, as JSON lines, or as CSV with one header."""
    first = True

    def show(frame: pl.DataFrame) -> None:
        nonlocal first
        if form == "table":
            print_table(frame.columns, ([_text(value) for value in row.values()] for row in _rows(frame)))
        elif form == "csv":
            text = _flat(frame).write_csv(include_header=first)
            # A pipe gets the values as they are.
            sys.stdout.write(printable_text(text) if sys.stdout.isatty() else text)
        else:
            for row in _rows(frame):
                print_json(row)
        first = False

    return show


def _rows(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for row in frame.iter_rows(named=True):
        yield {
            name: format_time(value) if name.lower() == "time" and isinstance(value, int) else value
            for name, value in row.items()
        }


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with nested values turned into text, which CSV can hold, and times as ISO-8601."""
    import polars as pl

    columns = []
    for name, dtype in frame.schema.items():
        if dtype.is_nested():
            texts = [None if v is None else json_text.dumps(v) for v in frame[name].to_list()]
            columns.append(pl.Series(name, texts, dtype=pl.String()))
        elif name.lower() == "time" and dtype == pl.Int64:
            texts = [None if v is None else format_time(v) for v in frame[name].to_list()]
            columns.append(pl.Series(name, texts, dtype=pl.String()))
        else:
            columns.append(frame[name])
    return pl.DataFrame(columns)


def _text(value: Any) -> str:
    match value:
        case None:
            return "-"
        case {"x": x, "y": y}:
            return f"({x:g}, {y:g})"
        case float():
            return f"{value:g}"
        case _:
            return str(value)
