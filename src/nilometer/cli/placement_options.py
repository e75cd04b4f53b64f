"""The options of the verbs that place a query in a network: the network, and the expectations of the plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nilometer.cli.console import message

if TYPE_CHECKING:
    from nilometer.catalog.network import Network
    from nilometer.engine import Query

NetworkOption = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="FILE_OR_NAME",
        envvar="NILOMETER_NETWORK",
        help="A network: a .toml, .csv, .geojson, .nss or .xml file, or the name of a declared one.",
    ),
]
CostsOption = Annotated[
    str | None,
    typer.Option(
        "--costs",
        help="The cost profile of the motes: snee-2010, mica2, nrf52840 ...; default: the network's.",
    ),
]
RetriesOption = Annotated[
    int | None,
    typer.Option(
        "--retries",
        min=0,
        help="How often an unacknowledged packet is sent again; default: the network's.",
    ),
]
AcquisitionIntervalOption = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="The time between readings: '15 MINUTES', or a range 'A..B'."),
]
DeliveryTimeOption = Annotated[
    str | None, typer.Option(metavar="DURATION", help="The longest time an answer may take: '24 HOURS'.")
]
LifetimeOption = Annotated[
    str | None, typer.Option(metavar="DURATION", help="How long the network must last: '100 DAYS'.")
]
TotalEnergyOption = Annotated[
    float | None, typer.Option(metavar="JOULES", help="The most energy that all nodes may use in six months.")
]
BufferingFactorOption = Annotated[
    int | None, typer.Option(help="Evaluations sent together; default: the cheapest number.")
]
GoalOption = Annotated[
    str | None, typer.Option(help="What to optimize: 'maximize lifetime', 'minimize delivery time', ...")
]
QosOption = Annotated[
    str | None,
    typer.Option(
        "--qos", metavar="FILE", help="Expectations in a file of SNEE's (XML); options override it."
    ),
]
PlotOption = Annotated[
    str | None,
    typer.Option("--plot", metavar="DIR", envvar="NILOMETER_PLOT", help="Draw pictures into this directory."),
]

_ENDINGS = (".toml", ".csv", ".geojson", ".json", ".nss", ".xml")


def network_file(network: str | None) -> Network | None:
    """The network that a file describes; None if `network` is not a file."""
    from nilometer.catalog.network_files import import_network

    if network is None:
        return None
    if not network.lower().endswith(_ENDINGS) and not (Path(network).suffix and Path(network).is_file()):
        return None  # a name
    return import_network(network, Path(network).stem)


def network_of(query: Query, network: str | None, costs: str | None, retries: int | None = None) -> Network:
    """The network that the options name: a file, one in the catalog, or the only one that senses the query's
    streams.
    """
    from dataclasses import replace

    from nilometer.catalog.profiles import cost_profile
    from nilometer.engine.placing import misspelt_streams, network_for

    found = network_file(network) or network_for(query, network)
    if retries is not None:
        found = replace(found, retries=retries)
    for note in misspelt_streams(query, found):
        message(note)
    return found if costs is None else replace(found, profile=cost_profile(costs))
