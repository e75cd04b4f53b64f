"""`nilometer reproduce`: reproduce a paper's figure, and print the paper's values beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nilometer.cli.options import JsonOption
from nilometer.errors import ConfigurationError


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="One of snee-forms, snee, snee-placement, snee-losses, snee-motes, fjords, fjords-power, "
            "steam, steam-buffer, steam-mining, idhm, snjoin, snjoin-central, snjoin-costs, snjoin-network, snjoin-phenomena, dhtjoin.",
        ),
    ],
    json: JsonOption = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", envvar="NILOMETER_PLOT", help="Draw the figures into this PNG file."
        ),
    ] = None,
    largest: Annotated[
        int | None,
        typer.Option(
            "--largest",
            metavar="SENSORS",
            min=20,
            help="Leave out simulated networks with more sensors than this, to finish sooner.",
        ),
    ] = None,
) -> None:
    """Reproduce a figure of one of the papers, and print the paper's values beside ours.

    Example: nilometer reproduce snee-forms

    Example: nilometer reproduce fjords --plot fjords.png

    Example: nilometer reproduce snjoin --largest 200
    """
    from json import dumps

    from nilometer.laboratory.benchmarks.registry import named
    from nilometer.laboratory.reproductions import PLOTS, REPRODUCTIONS, SCALED, text

    chosen = named(REPRODUCTIONS, name, "reproduction")
    if plot is not None and name not in PLOTS:
        raise ConfigurationError(f"no plot of '{name}'", hint=f"--plot draws {', '.join(PLOTS)}")
    if largest is not None and name not in SCALED:
        raise ConfigurationError(
            f"no networks to leave out of '{name}'", hint=f"--largest is for {', '.join(SCALED)}"
        )
    if largest is not None:
        result = SCALED[name](plot, largest)
    else:
        result = chosen() if plot is None else PLOTS[name](plot)
    print(dumps(result, ensure_ascii=False) if json else text(result))
