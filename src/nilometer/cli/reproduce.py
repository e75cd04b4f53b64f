"""`nilometer reproduce`: a paper's figure beside ours."""

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
            help="snee-forms, snee-placement, snee-motes, fjords, fjords-power, steam, steam-buffer, snjoin-costs or snjoin-network",
        ),
    ],
    json: JsonOption = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", envvar="NILOMETER_PLOT", help="write the figures there, as PNG"
        ),
    ] = None,
) -> None:
    """Reproduce a figure of one of the papers.

    Example: nilometer reproduce snee-forms
    Example: nilometer reproduce fjords --plot fjords.png
    """
    from json import dumps

    from nilometer.laboratory.benchmarks.registry import named
    from nilometer.laboratory.reproductions import PLOTS, REPRODUCTIONS, text

    chosen = named(REPRODUCTIONS, name, "reproduction")
    if plot is not None and name not in PLOTS:
        raise ConfigurationError(f"no plot of '{name}'", hint=f"--plot draws {', '.join(PLOTS)}")
    result = chosen() if plot is None else PLOTS[name](plot)
    print(dumps(result, ensure_ascii=False) if json else text(result))
