"""`nilometer simulate`: run a query on the motes of a network, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from nilometer.cli.console import (
    RowPrinter,
    check_output,
    message,
    parameters_of,
    print_json,
    read_sql,
    tell_of_data,
)
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    JsonOption,
    ProfileOption,
    SetOption,
    SqlArgument,
    database_of,
)
from nilometer.cli.placement_options import (
    AcquisitionIntervalOption,
    BufferingFactorOption,
    CostsOption,
    DeliveryTimeOption,
    GoalOption,
    LifetimeOption,
    NetworkOption,
    PlotOption,
    QosOption,
    RetriesOption,
    TotalEnergyOption,
    network_of,
)


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("simulate")(simulate)


def simulate(
    sql: SqlArgument,
    duration: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="DURATION",
            help="How long to simulate: '180 DAYS', '12h'; rounded to whole periods.",
        ),
    ] = "7 DAYS",
    data: DataOption = None,
    catalog: CatalogOption = None,
    network: NetworkOption = None,
    profile: ProfileOption = "default",
    costs: CostsOption = None,
    seed: Annotated[int, typer.Option("--seed", help="The seed of everything random.")] = 0,
    loss: Annotated[
        bool, typer.Option("--loss", help="Let links lose packets according to their quality.")
    ] = False,
    retries: RetriesOption = None,
    kill: Annotated[
        list[str] | None,
        typer.Option("--kill", metavar="NODE@TIME", help="Let a node die at a time: 3@40d; may be repeated."),
    ] = None,
    repair: Annotated[
        str,
        typer.Option(
            "--repair", help="How to repair the plan after a death: best, local, partial, global or none."
        ),
    ] = "best",
    spares: Annotated[
        int,
        typer.Option(
            "--spares",
            min=0,
            help="The number of substitute nodes prepared for each site, for local repairs.",
        ),
    ] = 1,
    drift: Annotated[
        float | None,
        typer.Option("--drift", metavar="PPM", help="Let clocks run wrong by up to this many ppm."),
    ] = None,
    guard: Annotated[
        str | None,
        typer.Option(
            "--guard",
            metavar="DURATION",
            help="With --drift: how long receivers listen before and after a slot; default: as needed.",
        ),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            metavar="SHARE",
            help="Run SIMILAR or PHENOMENA over clusters of sensors, each with this share of the area: 10%; or of this "
            "range: 30.",
        ),
    ] = None,
    feedback: Annotated[
        bool,
        typer.Option(
            "--feedback",
            help="With --clusters: let heads learn which others to probe; answers are approximate.",
        ),
    ] = False,
    recluster: Annotated[
        str | None,
        typer.Option(
            "--recluster",
            metavar="DURATION",
            help="With --clusters: form clusters anew so often; default: only after deaths.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="Print at most this many rows.")] = None,
    acquisition_interval: AcquisitionIntervalOption = None,
    delivery_time: DeliveryTimeOption = None,
    lifetime: LifetimeOption = None,
    total_energy: TotalEnergyOption = None,
    buffering_factor: BufferingFactorOption = None,
    goal: GoalOption = None,
    qos: QosOption = None,
    plot: PlotOption = None,
    json: JsonOption = False,
    set_: SetOption = None,
) -> None:
    """Run a query on simulated motes; print the rows that reach the sink, energy, losses and repairs.

    The motes sense the readings of the data directory. Where it has none,
    readings are generated from the seed.
    With --json, the last line is the report.

    Example: nilometer simulate --data field/ --network brook.toml --for '180 DAYS' --kill 3@40d "SELECT AVG(depth) FROM river [NOW]"

    Example: nilometer simulate --data examples/meadow --clusters 10% "SELECT time, kind, size FROM PHENOMENA(haze)"
    """

    from nilometer.engine.expectations import expectations
    from nilometer.engine.simulating import SimulationOptions, prepare
    from nilometer.errors import ConfigurationError
    from nilometer.plan.bind.parameters import given_duration
    from nilometer.sensornet.simulation import Clocks, Conditions, parse_kill
    from nilometer.sensornet.simulation.report import report_json, report_text

    # Motes sense a log: a reading far behind the others has a clock that was reset.
    database = database_of(data, catalog, log_order=True)
    query = database.sql(read_sql(sql), **parameters_of(set_ or [])).with_profile(profile)
    if plot is not None:
        check_output(plot, "--plot")
    if clusters is not None:
        from nilometer.cli.clustered import simulate_clustered

        if drift is not None:
            raise ConfigurationError(
                "--drift with --clusters: clocks agree there", hint="leave one of them out"
            )
        simulate_clustered(
            database,
            query,
            clusters,
            given_duration(duration, "--for"),
            network=network,
            costs=costs,
            feedback=feedback,
            recluster=None if recluster is None else given_duration(recluster, "--recluster"),
            losses=loss,
            retries=retries,
            kills=tuple((each.node, each.after) for each in map(parse_kill, kill or ())),
            seed=seed,
            limit=limit,
            json=json,
            plot=plot,
        )
        return
    if feedback or recluster is not None:
        raise ConfigurationError(
            "--feedback and --recluster are about clusters", hint="give --clusters 10% too, or neither"
        )
    expected = expectations(
        acquisition_interval=acquisition_interval,
        delivery_time=delivery_time,
        lifetime=lifetime,
        total_energy=total_energy,
        buffering_factor=buffering_factor,
        goal=goal,
        qos=qos,
    )
    found = network_of(query, network, costs, retries)
    if guard is not None and drift is None:
        raise ConfigurationError(
            "--guard without --drift: all clocks agree", hint="give --drift too, or neither"
        )
    margin = None if guard is None else given_duration(guard, "--guard") / 1e6
    conditions = Conditions(
        seed=seed,
        losses=loss,
        clocks=None if drift is None else Clocks(drift / 1e6, margin),
        kills=tuple(map(parse_kill, kill or ())),
        repair=repair,
        spares=spares,
    )
    length = given_duration(duration, "--for")
    simulation = prepare(query, SimulationOptions(length, found, expected, conditions))
    for given, death in zip(kill or (), conditions.kills, strict=True):
        if death.after >= simulation.end:
            message(f"--kill {given} is after the end of the run (--for {duration}, whole periods)")
    tell_of_data(database)
    for note in simulation.notes:
        message(note)
    printer = RowPrinter(query.columns, json, limit)
    result = simulation.run(printer.print, _progress())
    if json:
        print_json({"simulation": report_json(result)})
    else:
        message(report_text(result))
    if plot is not None:
        from nilometer.pictures import draw_placement, draw_simulation

        for path in (*draw_placement(simulation.placement, plot), *draw_simulation(result, plot)):
            message(f"drawn: {path}")


def _progress() -> Callable[[int, int], None]:
    """A function that reports the progress of a long run every few seconds."""
    from time import monotonic

    said = monotonic()

    def watch(done: int, whole: int) -> None:
        nonlocal said
        if monotonic() - said > 3:
            said = monotonic()
            message(f"{min(1.0, done / whole):4.0%}  {done / 86400e6:.1f} days")

    return watch
