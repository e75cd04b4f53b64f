"""A placement as JSON: everything that a drawing or another program needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from nilometer.placement.agenda import Agenda, FragmentTask
from nilometer.placement.placement import Placement
from nilometer.placement.tuple_layout import tuple_layout


def _task(task: FragmentTask, agenda: Agenda) -> dict[str, Any]:
    return {
        "site": task.site,
        "fragment": task.fragment,
        "start": agenda.milliseconds(task.start),
        "end": agenda.milliseconds(task.end),
    }


def placement_json(placement: Placement) -> dict[str, Any]:
    """Plain values; times are milliseconds in the agenda and seconds in the estimates."""
    agenda = placement.agenda
    milliseconds = agenda.milliseconds
    return {
        "profile": placement.profile.name,
        "costs": placement.costs.name,
        "routing": {
            "sink": placement.routing.sink,
            "edges": [list(edge) for edge in placement.routing.edges],
            "sources": list(placement.routing.sources),
            "order": list(placement.routing.post_order),
        },
        "fragments": [
            {
                "fragment": fragment.number,
                "operators": [node.operator for node in fragment.operators],
                "producers": list(fragment.producers),
                "consumer": fragment.consumer,
                "host": fragment.host,
                "sites": list(placement.placed.sites_of[fragment.number]),
                "tuple_size": tuple_layout(
                    fragment.root, placement.profile.wire, placement.placed.population
                ).size,
            }
            for fragment in placement.fragments
        ],
        "relays": list(placement.placed.relays),
        "agenda": {
            "alpha": milliseconds(agenda.alpha),
            "beta": agenda.beta,
            "retries": placement.network.retries,
            "period": milliseconds(agenda.period),
            "delivery": milliseconds(agenda.delivery),
            "acquisitions": [_task(task, agenda) for task in agenda.acquisitions],
            "tasks": [_task(task, agenda) for task in agenda.tasks],
            "transfers": [
                {
                    "source": transfer.source,
                    "target": transfer.target,
                    "start": milliseconds(transfer.start),
                    "end": milliseconds(transfer.end),
                    "packets": transfer.packets,
                    "reserved": transfer.sendings,
                }
                for transfer in agenda.transfers
            ],
        },
        "sites": [
            asdict(plan) | {"ram": plan.ram, "energy": asdict(plan.energy) | {"total": plan.energy.total}}
            for plan in placement.sites.values()
        ],
        "estimate": asdict(placement.estimate)
        | {
            "packets_per_day": placement.estimate.packets_per_day,
            "radio_time_per_day": placement.estimate.radio_time_per_day,
        },
        "alternatives": [asdict(alternative) for alternative in placement.alternatives],
    }
