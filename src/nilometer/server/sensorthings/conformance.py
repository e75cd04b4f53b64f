"""What the service says of itself: `serverSettings` of the root document (OGC 18-088, 9.2.1)."""

from __future__ import annotations

from typing import Any

_ROOT = "http://www.opengis.net/spec/iot_sensing/1.1/req/"
ALWAYS = (
    "datamodel",
    "resource-path/resource-path-to-entities",
    "request-data",
    "create-update-delete/create-entity",
    "create-update-delete/link-to-existing-entities",
    "create-update-delete/deep-insert",
    "create-update-delete/deep-insert-status-code",
    "create-update-delete/update-entity",
    "create-update-delete/update-entity-put",
    "create-update-delete/update-entity-jsonpatch",
    "create-update-delete/delete-entity",
    "create-update-delete/historical-location-auto-creation",
    "batch-request/batch-request",
    "data-array/data-array",
)
CHANGING = (
    "create-update-delete/update-entity",
    "create-update-delete/update-entity-put",
    "create-update-delete/update-entity-jsonpatch",
    "create-update-delete/delete-entity",
)
EXCEPT = {
    "except": ["Observations"],
    "because": "an Observation is a reading in a log, and readings do not change",
}
WITH_BROKER = (
    "create-observations-via-mqtt/observations-creation",
    "receive-updates-via-mqtt/receive-updates",
)


def settings_of(broker: str | None) -> dict[str, Any]:
    """The requirements that are met, and for what they are not; with a broker also those of MQTT, and where it is."""
    names = ALWAYS if broker is None else (*ALWAYS, *WITH_BROKER)
    found: dict[str, Any] = {"conformance": [_ROOT + name for name in names]}
    found |= {_ROOT + name: EXCEPT for name in CHANGING}
    if broker is not None:
        for name in WITH_BROKER:
            found[_ROOT + name] = {"endpoints": [broker]}
    return found
