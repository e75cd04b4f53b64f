"""A query -> the picture of its plan at a stage of EXPLAIN, as SVG.

ast, logical, optimized, physical, spark, demand, analyze: the tree that `explain` prints, with what runs where.
fragments: the plan cut into fragments. routing, placed: the network's routing tree with the fragments of each site.
agenda: when each site works and sends, as a Gantt chart.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nilometer.catalog.network import Network
    from nilometer.engine.query import Query
    from nilometer.placement import QualityOfService


def picture_of(
    query: Query, stage: str, network: str | Network | None, quality: QualityOfService | None
) -> str:
    """The drawing."""
    from nilometer.pictures import draw_agenda, draw_network
    from nilometer.pictures.plan_tree import draw_plan

    if stage not in ("routing", "placed", "agenda"):
        return draw_plan(query.explain(stage, network=network, quality=quality), stage)
    placed, drawn = query.placement(network, quality), io.BytesIO()
    (draw_agenda if stage == "agenda" else draw_network)(placed, drawn)
    return drawn.getvalue().decode()
