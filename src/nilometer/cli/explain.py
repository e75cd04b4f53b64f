"""`nilometer explain`: show a query's plan at any stage of compilation."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from nilometer.cli.console import message, parameters_of, print_json, read_sql
from nilometer.cli.options import (
    CatalogOption,
    DataListOption,
    JsonOption,
    ProfileOption,
    ServerOption,
    SetOption,
    SqlArgument,
    TokenOption,
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
    QosOption,
    RetriesOption,
    TotalEnergyOption,
    network_of,
)
from nilometer.errors import ConfigurationError
from nilometer.printable import printable_text


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("explain")(explain)


def explain(
    sql: SqlArgument,
    data: DataListOption = None,
    stage: Annotated[
        str,
        typer.Option(
            "--stage",
            help="One of ast, logical, optimized, physical, routing, fragments, placed, agenda, spark, demand, analyze.",
        ),
    ] = "optimized",
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the plan after each rule, changed or not.")
    ] = False,
    analyze: Annotated[
        bool,
        typer.Option("--analyze", help="Run the query over the data, and say what each operator did."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the stage into this SVG file.")
    ] = None,
    json: JsonOption = False,
    set_: SetOption = None,
    catalog: CatalogOption = None,
    profile: ProfileOption = "default",
    network: NetworkOption = None,
    costs: CostsOption = None,
    retries: RetriesOption = None,
    acquisition_interval: AcquisitionIntervalOption = None,
    delivery_time: DeliveryTimeOption = None,
    lifetime: LifetimeOption = None,
    total_energy: TotalEnergyOption = None,
    buffering_factor: BufferingFactorOption = None,
    goal: GoalOption = None,
    qos: QosOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Show the plan of a query without reading any data; with --analyze, run it and measure.

    The stages routing, fragments, placed and agenda need a network.
    They show the plan that `nilometer plan` makes with the same options.

    Example: nilometer explain --data field/ --stage physical "SELECT AVG(depth) FROM river [RANGE 1 HOUR]"

    Example: nilometer explain --data field/ --plot plan.svg "SELECT AVG(depth) FROM river [RANGE 1 HOUR]"
    """

    from nilometer.catalog.near_misses import join_names
    from nilometer.engine.expectations import expectations
    from nilometer.engine.placing import PLACEMENT_STAGES
    from nilometer.language import ast, parse

    text = read_sql(sql)
    statement = parse(text)
    if plot is not None and plot.suffix.lower() != ".svg":
        raise ConfigurationError(
            f"cannot draw a plan into '{plot}'", hint="name an SVG file: --plot plan.svg"
        )
    if server is not None:
        from nilometer.cli import remote

        with remote.open_server(server, token, data) as there:
            if plot is not None:
                drawing = there.sql(text, **parameters_of(set_ or [])).picture(stage)
                _write(plot, drawing)
                return
            shown = there.sql(text, **parameters_of(set_ or [])).explain_json(stage, verbose=verbose)
        print(json_module.dumps(shown) if json else printable_text(str(shown.get("text", ""))))
        return
    database = database_of(data, catalog)
    if isinstance(statement, ast.Explain):
        stage, verbose = statement.stage or stage, verbose or statement.verbose
        statement = statement.query
    query = database.query_of(statement, text, **parameters_of(set_ or [])).with_profile(profile)
    if analyze:
        stage = "analyze"
    given = (
        costs,
        retries,
        acquisition_interval,
        delivery_time,
        lifetime,
        total_energy,
        buffering_factor,
        goal,
    )
    if stage not in PLACEMENT_STAGES and any(option is not None for option in given):
        raise ConfigurationError(
            f"the stage '{stage}' does not depend on a network, nor on what is expected of one",
            hint=f"leave these options out, or ask for {join_names(PLACEMENT_STAGES, 'or')}",
        )
    in_network: dict[str, Any] = {}
    if stage in PLACEMENT_STAGES:
        expected = expectations(
            acquisition_interval=acquisition_interval,
            delivery_time=delivery_time,
            lifetime=lifetime,
            total_energy=total_energy,
            buffering_factor=buffering_factor,
            goal=goal,
            qos=qos,
        )
        in_network = {"network": network_of(query, network, costs, retries), "quality": expected}
    if plot is not None:
        _write(plot, query.picture(stage, **in_network))
    elif json:
        print_json(query.explain_json(stage, verbose=verbose, **in_network))
    else:
        print(printable_text(query.explain(stage, verbose=verbose, **in_network)))


def _write(path: Path, drawing: str) -> None:
    try:
        path.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot write '{path}'", detail=error.strerror) from None
    message(f"the plan is drawn in {path}")
