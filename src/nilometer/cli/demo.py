"""`nilometer demo`: live queries over simulated sensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nilometer.cli.console import message
from nilometer.cli.options import LiveHostOption

if TYPE_CHECKING:
    from nilometer.ingest.adapters.push import Pushes
    from nilometer.laboratory.demo.served import Dashboard
    from nilometer.live.owner.owner import Owner
    from nilometer.server.http_server import HttpServer


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("demo")(demo)


def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Keep running until Ctrl-C.")] = False,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="Run for this many seconds.")] = 20.0,
    sensors: Annotated[int, typer.Option("--sensors", min=4, help="The number of sensors.")] = 64,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the simulated readings.")] = 7,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keep the logs in this directory.")
    ] = None,
    on: LiveHostOption = "spark",
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Keep running for the dashboard, until Ctrl-C.")
    ] = False,
) -> None:
    """Run live queries over simulated sensors, which sense only what the queries need; ends by itself.

    A dashboard shows it in the browser meanwhile, at the address that is printed first.

    Example: nilometer demo --seconds 10

    Example: nilometer demo --dashboard
    """
    from nilometer.engine.hosts import host_name
    from nilometer.laboratory.demo import run_demo

    run_demo(
        seconds=None if stay or dashboard else seconds,
        sensors=sensors,
        seed=seed,
        keep=keep,
        on=host_name(on),
        dashboard=_dashboard(wanted=dashboard),
    )


def _dashboard(*, wanted: bool) -> Dashboard | None:
    """What serves the dashboard at this machine's port 7654, or at another that is free; None where the packages of the
    server are not installed."""
    from nilometer.errors import ConfigurationError, ResourceError
    from nilometer.server.http_server import HttpServer, require_server
    from nilometer.server.settings import HttpSettings

    try:
        require_server()
    except ConfigurationError:
        if wanted:
            raise
        return None

    def serve(owner: Owner, pushes: Pushes) -> HttpServer:
        try:
            server = HttpServer(owner, HttpSettings(), pushes)
        except ResourceError:
            server = HttpServer(owner, HttpSettings(port=0), pushes)
        until = "until Ctrl-C" if wanted else "nilometer demo --dashboard keeps it open"
        message(f"the dashboard: {server.address}/  ({until})")
        return server

    return serve
