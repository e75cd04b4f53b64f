"""`nilometer compile`: compile a query into programs for motes, and run them in an emulator on request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.console import (
    check_output,
    message,
    parameters_of,
    print_json,
    print_records,
    print_table,
    read_sql,
    tell_of_data,
)
from nilometer.cli.options import CatalogOption, DataOption, JsonOption, SetOption, SqlArgument, database_of
from nilometer.cli.placement_options import NetworkOption, RetriesOption, network_of
from nilometer.errors import ConfigurationError


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("compile")(compile_)


def compile_(
    sql: SqlArgument,
    network: NetworkOption = None,
    to: Annotated[
        Path,
        typer.Option(
            "--to", metavar="DIR", help="The directory for the C and ELF files, one of each per site."
        ),
    ] = Path("motes"),
    nesc: Annotated[
        bool, typer.Option("--nesc", help="Also write nesC for TinyOS 2, one folder per site.")
    ] = False,
    emulate: Annotated[
        bool, typer.Option("--emulate", help="Emulate all motes; print answers and measurements.")
    ] = False,
    periods: Annotated[
        int, typer.Option("--periods", min=1, help="With --emulate: how many periods of the agenda to run.")
    ] = 2,
    seed: Annotated[
        int,
        typer.Option("--seed", help="The seed of the injected readings, of lost packets, and of --apart."),
    ] = 1,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Inject the readings of --data instead of random ones.")
    ] = False,
    serial: Annotated[
        Path | None,
        typer.Option(
            "--serial",
            metavar="FILE",
            help="With --emulate: write the sink's serial output to a file, for `nilometer listen`.",
        ),
    ] = None,
    loss: Annotated[
        bool,
        typer.Option("--loss", help="With --emulate: let links lose packets according to their quality."),
    ] = False,
    retries: RetriesOption = None,
    drift: Annotated[
        float,
        typer.Option(
            "--drift",
            metavar="PPM",
            help="Let clocks run wrong by up to this many ppm; set them every period.",
        ),
    ] = 0.0,
    wait_for_start: Annotated[
        bool,
        typer.Option(
            "--wait-for-start",
            help="Motes wait for a start message: switch them on in any order, the sink last.",
        ),
    ] = False,
    apart: Annotated[
        float | None,
        typer.Option(
            "--apart",
            metavar="SECONDS",
            min=0,
            help="With --emulate and --wait-for-start: switch the motes on at random moments within this "
            "time, then the sink.",
        ),
    ] = None,
    delivery_time: Annotated[
        str | None, typer.Option(metavar="DURATION", help="The longest time an answer may take: '1 HOUR'.")
    ] = None,
    buffering_factor: Annotated[
        int | None, typer.Option(help="Evaluations sent together; default: the cheapest number.")
    ] = None,
    data: DataOption = None,
    catalog: CatalogOption = None,
    json: JsonOption = False,
    set_: SetOption = None,
) -> None:
    """Compile a query for motes: one C program and one ELF file per site (ATmega128, avr-gcc).

    --emulate runs the programs under libsimavr on random or recorded readings
    and compares the sink's answers with those of the reference evaluator.
    --loss lets links lose packets. The report says which tuples were lost
    for good, and how that changed the answer.
    --drift lets clocks run apart. Motes correct them by the
    acknowledgements that --retries asks for.
    --wait-for-start lets you switch motes on at different times. The sink,
    switched on last, tells the others down the tree when the first evaluation is.

    Example: nilometer compile --data field/ --network brook.toml --emulate "SELECT AVG(depth) FROM river [NOW]"
    """

    from nilometer.engine import mote_report
    from nilometer.engine.expectations import expectations
    from nilometer.engine.motes import CompileOptions, EmulationOptions, readings_of_periods

    for name, given in (("--loss", loss), ("--serial", serial), ("--apart", apart is not None)):
        if given and not emulate:
            raise ConfigurationError(
                f"{name} without --emulate: nothing is sent", hint="give --emulate too, or neither"
            )
    if apart is not None and not wait_for_start:
        raise ConfigurationError(
            "--apart without --wait-for-start: motes that count from their reset must be switched on together",
            hint="give --wait-for-start too, or neither",
        )
    query = database_of(data, catalog, log_order=True).sql(read_sql(sql), **parameters_of(set_ or []))
    found = network_of(query, network, None, retries)
    check_output(to, "--to")
    if serial is not None:
        check_output(serial.parent, "--serial")
    expected = expectations(delivery_time=delivery_time, buffering_factor=buffering_factor)
    log = readings_of_periods(query, found, periods) if recorded else None
    options = CompileOptions(
        found,
        expected,
        recorded=log,
        emulated=emulate,
        drift=drift / 1e6,
        waiting=wait_for_start,
        nesc=nesc,
    )
    compiled = query.compile(to, options)
    if log:
        tell_of_data(query.database)
    for note in mote_report.notes(compiled, log, periods):
        message(note)
    message(
        f"{len(compiled.built)} programs in {to}; {compiled.placement.beta} evaluations a period,"
        f" {compiled.placement.agenda.seconds(compiled.placement.agenda.period):g} s"
    )
    if wait_for_start:
        message("motes wait until they are told when to begin: switch the sink on last")
    if not emulate:
        print_records(mote_report.sizes(compiled), json)
        return
    ran = query.emulate(
        compiled, EmulationOptions(periods, seed, log.readings if log else None, loss, apart or 0.0)
    )
    if serial is not None:
        serial.parent.mkdir(parents=True, exist_ok=True)
        serial.write_bytes(ran.serial)
    if json:
        print_json(mote_report.emulation_json(ran))
        for line in ran.answer.json_rows():
            print_json(line)
    else:
        print_records(mote_report.measurements(ran), False)
        print()
        print_table(ran.answer.columns, ran.answer.text_rows())
    message(mote_report.verdict(ran))
    mote_report.check_sound(ran)
