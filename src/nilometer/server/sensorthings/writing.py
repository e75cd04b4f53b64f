"""Entities as JSON: ids, links, and the properties that were selected."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nilometer.server.sensorthings.kinds import KINDS, Kind
from nilometer.server.sensorthings.model import Entity
from nilometer.server.sensorthings.names import Id, literal
from nilometer.server.sensorthings.options import Options

SAFE = "()',:@!*~$"
NULLS = ("result", "resultTime")
"""Properties that are written also where they are NULL."""


def self_link(root: str, kind: Kind, identity: Id) -> str:
    """The address of an entity."""
    return f"{root}/{kind.name}({quote(literal(identity), safe=SAFE)})"


def as_json(root: str, entity: Entity, options: Options) -> dict[str, Any]:
    """An entity, with links to what is not expanded."""
    select = options.select
    address = self_link(root, entity.kind, entity.id)
    found: dict[str, Any] = {}
    if select is None:
        found["@iot.id"] = entity.id
        found["@iot.selfLink"] = address
        properties = entity.kind.properties
    else:
        if "id" in select or "@iot.id" in select:
            found["@iot.id"] = entity.id
        if "@iot.selfLink" in select:
            found["@iot.selfLink"] = address
        properties = tuple(name for name in entity.kind.properties if name in select)
    given = entity.properties
    for name in properties:
        value = given.get(name)
        if value is not None or (name in NULLS and name in given):
            found[name] = value
    if select is not None:
        _parts(found, entity, select)
    expanded = {each.link.name for each in options.expand}
    for link in entity.kind.links:
        if link.name not in expanded and (select is None or link.name in select):
            found[f"{link.name}@iot.navigationLink"] = f"{address}/{link.name}"
    return found


def _parts(found: dict[str, Any], entity: Entity, select: tuple[str, ...]) -> None:
    """Parts of JSON objects: $select=properties/colour."""
    for path in select:
        first, *rest = path.split("/")
        if not rest or (first in found and first in select):
            continue
        value, place = entity.properties.get(first), found
        for name, following in zip([first, *rest], [*rest, None], strict=True):
            if following is None:
                place[name] = value
                break
            value = value.get(following) if isinstance(value, dict) else None
            place = place.setdefault(name, {})


def root_document(root: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What `GET /v1.1` says."""
    return {
        "value": [{"name": name, "url": f"{root}/{name}"} for name in KINDS],
        "serverSettings": settings,
    }
