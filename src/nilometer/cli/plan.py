"""`nilometer plan`: where and when a query would run on the motes of a network, and what that costs."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.console import parameters_of, read_sql
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    JsonOption,
    NetworkOption,
    ProfileOption,
    SetOption,
    SqlArgument,
    database_of,
)


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("plan")(plan)


def plan(
    sql: SqlArgument,
    topology: Annotated[
        str | None,
        typer.Option("--topology", metavar="FILE", help="A network: .toml, .csv or .geojson."),
    ] = None,
    data: DataOption = None,
    catalog: CatalogOption = None,
    network: NetworkOption = None,
    profile: ProfileOption = "default",
    costs: Annotated[
        str | None,
        typer.Option(
            "--costs",
            help="What a mote's actions take: snee-2010, mica2, nrf52840 ...; else as the network says.",
        ),
    ] = None,
    acquisition_interval: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Between readings: '15 MINUTES'; 'A..B' for a range."),
    ] = None,
    delivery_time: Annotated[
        str | None, typer.Option(metavar="DURATION", help="The longest that an answer may take: '24 HOURS'.")
    ] = None,
    lifetime: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long the network must last: '100 DAYS'.")
    ] = None,
    total_energy: Annotated[
        float | None, typer.Option(metavar="JOULES", help="The most that all nodes may take in six months.")
    ] = None,
    buffering_factor: Annotated[
        int | None, typer.Option(help="Evaluations that are sent together; else as many as pay.")
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(help="What to be best at: 'maximize lifetime', 'minimize delivery time', ..."),
    ] = None,
    json: JsonOption = False,
    set_: SetOption = None,
) -> None:
    """Plan a query for the motes of a network: routing tree, fragments, agenda, energy and lifetime.

    Example: nilometer plan --data field/ --topology brook.toml --delivery-time '24 HOURS' "SELECT AVG(depth) FROM river [NOW]"
    """
    from dataclasses import replace
    from json import dumps

    from nilometer.catalog.network_files import import_network
    from nilometer.catalog.profiles import cost_profile
    from nilometer.engine.expectations import expectations
    from nilometer.engine.placing import PLACEMENT_STAGES, network_for, stage_text
    from nilometer.placement.text import placement_json, summary_text

    database = database_of(data, catalog)
    text = read_sql(sql)
    query = database.sql(text, **parameters_of(set_ or []))
    query.profile = profile
    found = import_network(topology, "topology") if topology is not None else network_for(query, network)
    if costs is not None:
        found = replace(found, profile=cost_profile(costs))
    expected = expectations(
        acquisition_interval=acquisition_interval,
        delivery_time=delivery_time,
        lifetime=lifetime,
        total_energy=total_energy,
        buffering_factor=buffering_factor,
        goal=goal,
    )
    placement = query.placement(found, expected)
    if json:
        print(dumps(placement_json(placement), ensure_ascii=False))
        return
    for stage in PLACEMENT_STAGES:
        print(stage_text(placement, stage), end="\n\n")
    print(summary_text(placement))
