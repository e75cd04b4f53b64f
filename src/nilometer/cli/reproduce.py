"""`nilometer reproduce`: a paper's figure beside ours."""

from __future__ import annotations

from typing import Annotated

import typer

from nilometer.cli.options import JsonOption


def register(application: typer.Typer) -> None:
    """Add the verb."""
    application.command("reproduce")(reproduce)


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="snee-forms, fjords-power or steam-buffer")],
    json: JsonOption = False,
) -> None:
    """Reproduce a figure of one of the papers.

    Example: nilometer reproduce snee-forms
    """
    from json import dumps

    from nilometer.laboratory.benchmarks.registry import named
    from nilometer.laboratory.reproductions import REPRODUCTIONS, text

    result = named(REPRODUCTIONS, name, "reproduction")()
    print(dumps(result, ensure_ascii=False) if json else text(result))
