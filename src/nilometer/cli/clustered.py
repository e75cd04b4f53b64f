"""`nilometer simulate --clusters`: run SIMILAR or PHENOMENA over clusters of the data's own network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer.cli.console import RowPrinter, message, print_json, tell_of_data
from nilometer.cli.placement_options import network_of
from nilometer.errors import ConfigurationError

if TYPE_CHECKING:
    from nilometer.catalog.network import NodeId
    from nilometer.engine import Database, Query


def simulate_clustered(
    database: Database,
    query: Query,
    clusters: str,
    duration: int,
    *,
    network: str | None,
    costs: str | None,
    feedback: bool,
    recluster: int | None,
    losses: bool,
    retries: int | None,
    kills: tuple[tuple[NodeId, int], ...],
    seed: int,
    limit: int | None,
    json: bool,
    plot: str | None,
) -> None:
    """Run, print the rows that reach the sink, and then the report."""
    from nilometer.engine.clustering import ClusterOptions, prepare_clustered
    from nilometer.sensornet.clustered_report import clustered_json, clustered_text

    declared = network is not None or bool(list(database.catalog.networks()))
    share, distance = cluster_size(clusters)
    simulation = prepare_clustered(
        query,
        ClusterOptions(
            duration,
            share,
            distance,
            feedback,
            recluster,
            network_of(query, network, costs, retries) if declared else None,
            losses,
            retries,
            kills,
            seed,
        ),
    )
    tell_of_data(database)
    answer, result = simulation.run()
    for note in simulation.notes:
        message(note)
    RowPrinter(query.columns, json, limit).print(answer)
    if json:
        print_json({"simulation": clustered_json(result)})
    else:
        message(clustered_text(result))
    if plot is not None:
        from nilometer.pictures.cluster_map import draw_clusters

        message(f"drawn: {draw_clusters(result, plot)}")


def cluster_size(text: str) -> tuple[float | None, float | None]:
    """The share of the area, or the range, that `--clusters` says.

    >>> cluster_size("10%"), cluster_size("30")
    ((0.1, None), (None, 30.0))
    """
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    try:
        size = float(number)
    except ValueError:
        size = -1.0
    if not 0 < size < float("inf") or (percent and size > 100):
        raise ConfigurationError(
            f"--clusters {text}: neither a share of the area nor a range",
            hint="write 10%, or the range in the unit of the network's locations: 30",
        )
    return (size / 100, None) if percent else (None, size)
