"""`nilometer plan`: plan where and when a query runs on the motes of a network, and estimate its cost."""

from __future__ import annotations

from pathlib import Path

import typer

from nilometer.cli.console import check_output, message, parameters_of, print_json, read_sql
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

MANY = 300
"""From this number of nodes on, several plans take so long that a message announces them."""


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("plan")(plan)


def plan(
    sql: SqlArgument,
    data: DataOption = None,
    catalog: CatalogOption = None,
    network: NetworkOption = None,
    profile: ProfileOption = "default",
    costs: CostsOption = None,
    retries: RetriesOption = None,
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
    """Plan a query for the motes of a network: routing tree, fragments, agenda, energy and lifetime.

    Example: nilometer plan --data field/ --network brook.toml --delivery-time '24 HOURS' "SELECT AVG(depth) FROM river [NOW]"
    """

    from nilometer.engine.expectations import expectations
    from nilometer.engine.placing import PLACEMENT_STAGES, stage_text
    from nilometer.placement.text import placement_json, summary_text

    database = database_of(data, catalog)
    text = read_sql(sql)
    query = database.sql(text, **parameters_of(set_ or [])).with_profile(profile)
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
    placement = query.placement(found, expected)
    if plot is not None:
        from nilometer.pictures import draw_placement, draw_trade_offs

        check_output(plot, "--plot")
        paths = draw_placement(placement, plot)
        paths.append(Path(plot) / "lifetime.svg")
        if len(found.nodes) > MANY:
            message("planning for other acquisition intervals too, for lifetime.svg: ten more plans")
        draw_trade_offs(
            placement, lambda interval: query.placement(found, expected.at_interval(interval)), paths[-1]
        )
        for path in paths:
            message(f"drawn: {path}")
    if json:
        print_json(placement_json(placement))
        return
    for stage in PLACEMENT_STAGES:
        print(stage_text(placement, stage), end="\n\n")
    print(summary_text(placement))
