"""The data array extension (OGC 18-088, section 12): observations as rows, by Datastream, out and in."""

from __future__ import annotations

from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.server.sensorthings.bodies import reference
from nilometer.server.sensorthings.kinds import DATASTREAMS
from nilometer.server.sensorthings.model import Entity
from nilometer.server.sensorthings.names import Id
from nilometer.server.sensorthings.options import Options
from nilometer.server.sensorthings.writing import self_link

COMPONENTS = ("id", "phenomenonTime", "result", "resultTime", "resultQuality", "validTime", "parameters")
FEATURE = "FeatureOfInterest/id"
MOST = 200_000
"""The most observations of one request."""


def as_data_array(root: str, entities: list[Entity], options: Options) -> list[dict[str, Any]]:
    """The observations of a page, by Datastream."""
    select = options.select
    present = {name for entity in entities for name in entity.properties}
    names = [
        name
        for name in COMPONENTS
        if (select is None and (name in present or name == "id"))
        or (select is not None and (name in select or (name == "id" and "@iot.id" in select)))
    ]
    groups: dict[Id, list[list[Any]]] = {}
    for entity in entities:
        assert entity.origin is not None
        row = [entity.id if name == "id" else entity.properties.get(name) for name in names]
        groups.setdefault(entity.origin[0], []).append(row)
    return [
        {
            "Datastream@iot.navigationLink": self_link(root, DATASTREAMS, datastream),
            "components": names,
            "dataArray@iot.count": len(rows),
            "dataArray": rows,
        }
        for datastream, rows in groups.items()
    ]


def observations_in(body: Any) -> list[tuple[Id, dict[str, Any]]]:
    """The observations of a CreateObservations request, with their Datastreams."""
    if not isinstance(body, list):
        raise ConfigurationError("CreateObservations takes a list of data arrays")
    found: list[tuple[Id, dict[str, Any]]] = []
    for group in body:
        datastream = reference(group.get("Datastream")) if isinstance(group, dict) else None
        if datastream is None:
            raise ConfigurationError(
                "a data array needs its Datastream", hint='link it: "Datastream": {"@iot.id": 1}'
            )
        names, rows = group.get("components"), group.get("dataArray")
        if (
            not isinstance(names, list)
            or not isinstance(rows, list)
            or not all(isinstance(n, str) for n in names)
        ):
            raise ConfigurationError("a data array has components and dataArray")
        strange = [name for name in names if name not in (*COMPONENTS, FEATURE)]
        if strange or "result" not in names:
            raise ConfigurationError(
                f"'{strange[0][:40]}' is no component"
                if strange
                else "a data array needs the component 'result'",
                hint=f"components are {', '.join((*COMPONENTS[1:], FEATURE))}",
            )
        for row in rows:
            if not isinstance(row, list) or len(row) != len(names):
                raise ConfigurationError(f"a row of a data array has {len(names)} values, as components says")
            values = {
                name: value for name, value in zip(names, row, strict=True) if name not in ("id", FEATURE)
            }
            if FEATURE in names and row[names.index(FEATURE)] is not None:
                values["FeatureOfInterest"] = {"@iot.id": row[names.index(FEATURE)]}
            found.append((datastream, values))
    if len(found) > MOST:
        raise ConfigurationError(f"a request has at most {MOST:,} observations", hint="send several requests")
    return found
