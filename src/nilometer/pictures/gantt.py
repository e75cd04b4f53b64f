"""An agenda -> a Gantt chart: one row per site, with its computing, sending and receiving in the last
evaluation of a period."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from nilometer.pictures.colours import INK, RADIO, RELAY, fragment_colour
from nilometer.placement import FragmentTask, Placement

MOST_ROWS = 60
"""For a large network, only this many sites are drawn: those nearest to the sink."""


def draw_agenda(placement: Placement, path: Path | BinaryIO) -> None:
    """Draw the chart; as SVG if the path is an open file. Acquisitions of earlier evaluations look like those of the last and are left out."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.ticker import EngFormatter

    agenda = placement.agenda
    sites = agenda.sites[-MOST_ROWS:]
    last = agenda.last_evaluation
    figure = Figure(figsize=(10, 1.5 + 0.26 * len(sites)), layout="constrained")
    axes = figure.subplots()
    for row, site in enumerate(sites):
        for task in agenda.acquisitions_at[site]:
            _bar(
                axes,
                row,
                agenda.seconds(task.start),
                agenda.seconds(task.end),
                fragment_colour(task.fragment),
            )
        for once in agenda.column[site]:
            begin, end = agenda.seconds(once.start - last), agenda.seconds(once.end - last)
            if isinstance(once, FragmentTask):
                _bar(axes, row, begin, end, fragment_colour(once.fragment))
            else:
                _bar(axes, row, begin, end, INK if once.source == site else RELAY)
    axes.set_yticks(range(len(sites)), [str(site) for site in sites], fontsize=7)
    axes.invert_yaxis()
    axes.set_ylabel("site")
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel(f"from the beginning of evaluation {agenda.beta} of {agenda.beta}")
    axes.axvline(agenda.seconds(agenda.delivery - last), color=RADIO, linewidth=0.8, linestyle=":")
    handles = [Patch(color=fragment_colour(f.number), label=f.name) for f in placement.fragments]
    handles += [Patch(color=INK, label="transmits"), Patch(color=RELAY, label="receives")]
    axes.legend(handles=handles, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.margins(x=0.01)
    figure.savefig(path, format=None if isinstance(path, Path) else "svg")


def _bar(axes, row: int, begin: float, end: float, colour: str) -> None:  # type: ignore[no-untyped-def]
    axes.barh(row, end - begin, left=begin, height=0.72, color=colour, edgecolor="white", linewidth=0.3)
