"""`nilometer field`: what is going on in the field, in sentences and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.console import check_output_file, message, print_json, time_of
from nilometer.cli.options import (
    CatalogOption,
    DataOption,
    JsonOption,
    ServerOption,
    TokenOption,
    database_of,
)


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("field")(field)


def field(
    data: DataOption = None,
    at: Annotated[str | None, typer.Option("--at", help="When; default: at the last reading.")] = None,
    phenomenon: Annotated[
        str | None, typer.Option("--phenomenon", help="Only this one; default: all that are declared.")
    ] = None,
    json: JsonOption = False,
    geojson: Annotated[
        bool,
        typer.Option(
            "--geojson", help="Print the phenomena with their regions as GeoJSON, a collection a line."
        ),
    ] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw a map: PNG, SVG or PDF.")] = None,
    animate: Annotated[
        Path | None,
        typer.Option(
            "--animate",
            help="Write an animation of all evaluations up to then: a GIF, or an MP4 (by ffmpeg).",
        ),
    ] = None,
    catalog: CatalogOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Say what is going on: the phenomena there are, how large, where, since when, where they go.

    Without --server it is computed from all data at hand. A server goes on from what it knows.

    Example: nilometer field --data campfire/ --at 2018-11-09T04:00Z --plot smoke.png

    Example: nilometer field --data campfire/ --geojson > smoke.geojson

    Example: nilometer field --server http://gateway:7654
    """
    from nilometer.engine.field import describe_field
    from nilometer.engine.field_geojson import field_geojson
    from nilometer.errors import ConfigurationError
    from nilometer.pictures.field_map import animate_field, check_animation, draw_field
    from nilometer.types import format_time

    if json and geojson:
        raise ConfigurationError("--json and --geojson exclude each other", hint="leave one of them out")
    for path, option in ((plot, "--plot"), (animate, "--animate")):
        if path is not None and server is not None:
            raise ConfigurationError(
                f"{option} draws from data at hand", hint="give --data; the dashboard of a server has the map"
            )
        if path is not None:
            check_output_file(path, option)
    if animate is not None:
        check_animation(animate)
    if server is not None:
        from nilometer.cli import remote

        with remote.open_server(server, token, data) as there:
            remote.field(there, at, phenomenon, json=json, geojson=geojson)
        return
    found = describe_field(database_of(data, catalog), time_of(at), phenomenon)
    if (plot is not None or animate is not None) and len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise ConfigurationError("which phenomenon is drawn?", hint=f"add --phenomenon: one of {names}")
    for each in found if geojson else ():
        print_json(field_geojson(each))
    for each in () if geojson else found:
        for row in each.rows if json else ():
            print_json(row | {name: format_time(row[name]) for name in ("time", "born")})
        for sentence in () if json else each.sentences:
            typer.echo(sentence)
    for each in found:
        if plot is not None:
            draw_field(each.name, each.tick, each.rows, each.sensors, each.coordinates, plot, each.outlook)
            message(f"{plot} is written")
        if animate is not None:
            frames = animate_field(
                each.name, each.slide, each.history, each.sensors, each.coordinates, animate, each.outlook
            )
            message(f"{animate} is written: {frames} evaluations")
