"""The FeatureOfInterest of an observation: the one that is given, or one made from the Location of its Thing
(OGC 18-088, 10.2.1.1), which is used again until the Location changes."""

from __future__ import annotations

from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.server.sensorthings.bodies import reference
from nilometer.server.sensorthings.editor import Editor
from nilometer.server.sensorthings.kinds import DATASTREAMS, FEATURES, LOCATIONS, THINGS
from nilometer.server.sensorthings.model import Model
from nilometer.server.sensorthings.names import literal
from nilometer.server.sensorthings.store import Stored

GENERATED = "GeneratedFrom"


def feature_for(model: Model, datastream: int, given: Any) -> int | None:
    """The id of the feature; None if none is given and the Thing has no Location."""
    store = model.store
    with store.turn:
        if given is not None:
            known = reference(given)
            if known is None:
                editor = Editor(model, store.begin())
                made = editor.create(FEATURES, given)
                store.commit(editor.change)
                assert isinstance(made, int)
                return made
            if not isinstance(known, int):
                raise ConfigurationError(
                    "the observations of your own Datastreams have FeaturesOfInterest of your own",
                    detail=f"found {literal(known)[:80]}",
                )
            if model.find(FEATURES, known) is None:
                raise ConfigurationError(f"there is no FeaturesOfInterest({known})")
            return known
        things = model.linked(DATASTREAMS, datastream, "Thing")
        places = model.linked(THINGS, things[0], "Locations") if things else []
        location = model.find(LOCATIONS, places[0]) if places else None
        if location is None:
            return None
        wanted = {
            "name": location.properties["name"],
            "description": location.properties["description"],
            "encodingType": location.properties["encodingType"],
            "feature": location.properties["location"],
        }
        for each in store.linking(FEATURES.name, GENERATED, location.id):
            stored = store.get(FEATURES.name, each)
            if (
                stored is not None
                and isinstance(each, int)
                and stored.properties.get("feature") == wanted["feature"]
            ):
                return each
        change = store.begin()
        identity = change.number()
        change.put[FEATURES.name, identity] = Stored(wanted, {GENERATED: location.id})
        store.commit(change)
        return identity
