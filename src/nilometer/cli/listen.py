"""`nilometer listen`: print the answers of a query that runs on motes, read from the sink's serial line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.console import RowPrinter, message, parameters_of, read_sql, time_of
from nilometer.cli.live import SecondsOption, stopped_by_signal
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, SetOption, SqlArgument, database_of
from nilometer.cli.placement_options import NetworkOption, RetriesOption, network_of
from nilometer.errors import ConfigurationError, DataError

STRANGE = 1000
"""After this many bytes without a frame, a message says that the bytes are not from this query's programs."""


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("listen")(listen)


def listen(
    sql: SqlArgument,
    line: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="LINE",
            help="Where to read: the sink's serial device, tcp://HOST:PORT, '-' for stdin, or a file.",
        ),
    ],
    network: NetworkOption = None,
    retries: RetriesOption = None,
    delivery_time: Annotated[
        str | None, typer.Option(metavar="DURATION", help="The value given to `compile`: '1 HOUR'.")
    ] = None,
    buffering_factor: Annotated[int | None, typer.Option(help="The value given to `compile`.")] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--start", metavar="TIME", help="The time of the first evaluation; default: by when bytes arrive."
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Append the bytes to a file, for a later --from."),
    ] = None,
    seconds: SecondsOption = None,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="Print at most this many rows.")] = None,
    data: DataOption = None,
    catalog: CatalogOption = None,
    json: JsonOption = False,
    set_: SetOption = None,
) -> None:
    """Print the answers of a query that runs on motes, as programs from `nilometer compile`.

    The rest of the plan, which `compile` leaves to the gateway, runs here.
    Give the same query, network and options as to `nilometer compile`.
    Ends when the line ends, after --seconds, or at Ctrl-C.

    Example: nilometer listen --data field/ --network brook.toml --from /dev/ttyUSB0 "SELECT AVG(depth) FROM river [NOW]"
    """
    from contextlib import ExitStack

    from nilometer.engine import motes
    from nilometer.engine.expectations import expectations
    from nilometer.engine.mote_answers import mote_answers
    from nilometer.ingest.adapters.byte_line import ByteLine

    if record is not None and record.exists() and Path(line).exists() and record.samefile(line):
        raise ConfigurationError(
            "--record is the line itself: it would grow as it is read", hint="give another file, or none"
        )
    query = database_of(data, catalog).sql(read_sql(sql), **parameters_of(set_ or []))
    expected = expectations(delivery_time=delivery_time, buffering_factor=buffering_factor)
    began = time_of(start)
    listener = motes.listener(query, network_of(query, network, None, retries), expected, began)
    printer, stopped, opened = RowPrinter(query.columns, json, limit), stopped_by_signal(), time.monotonic()
    told = False

    def warn(most: int) -> None:
        """Say once that the bytes are not from this query's programs."""
        nonlocal told
        if not told and listener.skipped > most and not listener.heard.frames:
            told = True
            message(
                f"{listener.skipped} bytes came, and none of them in a frame of this query: were the programs compiled from"
                " this query, network and options, and is the line one of 57600 Bd, 8N1?"
            )

    def over() -> bool:
        warn(STRANGE)
        return stopped() or printer.full or (seconds is not None and time.monotonic() - opened >= seconds)

    with ExitStack() as stack:
        opened_line = stack.enter_context(ByteLine(line))
        kept = stack.enter_context(record.open("ab")) if record is not None else None
        try:
            for answer in mote_answers(query, listener, opened_line, over=over, record=kept):
                printer.print(answer)
        except KeyboardInterrupt:
            message("stopped")
    warn(0)
    heard = listener.heard
    message(
        f"{heard.frames} frames with {heard.tuples} tuples, {heard.late} of them late; {heard.missing} frames missing,"
        f" {heard.resets} resets of the sink, {heard.corrections} corrections of its clock, {listener.skipped} bytes in no frame"
    )
    if opened_line.broken is not None:
        raise DataError(
            f"the line '{line}' broke", detail=opened_line.broken, hint="plug it in again, and listen again"
        )
