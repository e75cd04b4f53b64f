"""The clusters of a run on a map: sensors in the colours of their clusters, heads with their range, links and sink."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nilometer.pictures.colours import fragment_colour
from nilometer.sensornet.clustered_report import ClusteredResult
from nilometer.sensornet.clusters import NO_HEAD, Clusters


def draw_clusters(result: ClusteredResult, directory: Path | str) -> Path:
    """Draw the first and, if they changed, the last clusters into `clusters.svg`."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    shown = result.formations[:1] + (result.formations[1:][-1:])
    times = [each.time for each in result.happenings if each.clusters is not None]
    moments = times[:1] + times[1:][-1:]
    figure, panels = pyplot.subplots(
        1, len(shown), figsize=(6.4 * len(shown), 5.0), layout="constrained", squeeze=False
    )
    dead: set[int] = set()
    for panel, clusters, moment in zip(panels[0], shown, moments, strict=True):
        dead |= {
            each.node
            for each in result.happenings
            if each.kind == "died" and each.node is not None and each.time < moment
        }
        _draw(panel, result, clusters, dead)
        hours = (moment - result.begin) / 3_600e6
        when = "at the beginning" if moment <= result.begin else f"from {hours:.3g} h on"
        panel.set_title(f"{clusters.count} clusters {when}", fontsize=10)
    path = folder / "clusters.svg"
    figure.savefig(path)
    pyplot.close(figure)
    return path


def _draw(panel: object, result: ClusteredResult, clusters: Clusters, dead: set[int]) -> None:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle

    assert isinstance(panel, Axes)
    topology, field = result.field.topology, result.field
    positions = topology.positions
    owners = np.repeat(np.arange(topology.nodes), np.diff(topology.starts))
    once = owners < topology.targets
    panel.add_collection(
        LineCollection(
            np.stack((positions[owners[once]], positions[topology.targets[once]]), axis=1).tolist(),
            colors="#dddddd",
            linewidths=0.6,
            zorder=1,
        )
    )
    for place, head in enumerate(clusters.heads.tolist()):
        shade = fragment_colour(place)
        members = clusters.members(head)
        spokes = [[positions[node].tolist(), positions[head].tolist()] for node in members if node != head]
        panel.add_collection(LineCollection(spokes, colors=shade, linewidths=0.9, alpha=0.6, zorder=2))
        panel.scatter(
            positions[members][:, 0],
            positions[members][:, 1],
            s=34,
            color=shade,
            zorder=3,
            edgecolors="white",
            linewidths=0.5,
        )
        panel.scatter(
            positions[head, 0],
            positions[head, 1],
            s=150,
            marker="*",
            color=shade,
            zorder=4,
            edgecolors="black",
            linewidths=0.6,
        )
        panel.add_patch(
            Circle(
                (float(positions[head, 0]), float(positions[head, 1])),
                result.cluster_range,
                fill=False,
                color=shade,
                alpha=0.35,
                linestyle=":",
            )
        )
    idle = (clusters.head_of == NO_HEAD) & (np.arange(topology.nodes) != field.sink)
    idle[list(dead)] = False
    if idle.any():
        panel.scatter(
            positions[idle][:, 0], positions[idle][:, 1], s=18, color="#bbbbbb", zorder=3, label="no member"
        )
    if dead:
        panel.scatter(
            positions[sorted(dead)][:, 0],
            positions[sorted(dead)][:, 1],
            s=60,
            marker="x",
            color="#444444",
            zorder=5,
            label="dead",
        )
    panel.scatter(
        positions[field.sink, 0],
        positions[field.sink, 1],
        s=70,
        marker="s",
        color="black",
        zorder=5,
        label="sink",
    )
    panel.scatter([], [], s=150, marker="*", color="#ffffff", edgecolors="black", label="head")
    if topology.nodes <= 60:
        for node, name in enumerate(field.ids):
            panel.annotate(
                str(name),
                positions[node],
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=6,
                color="#555555",
            )
    panel.set_aspect("equal")
    panel.margins(0.06)
    panel.legend(loc="upper right", fontsize=7, framealpha=0.9)
    panel.tick_params(labelsize=7)
