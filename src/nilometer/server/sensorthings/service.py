"""SensorThings for one data directory: a method, a path and a body -> a reply. HTTP, $batch and MQTT come through here.

Everything here may wait, so it runs in a thread.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nilometer.errors import ConfigurationError, NilometerError
from nilometer.live import audit
from nilometer.live.owner.owner import OwnerGoneError
from nilometer.server.problems import ForbiddenError, NotAllowedError, NotFoundError
from nilometer.server.sensorthings import catalog, options, paths
from nilometer.server.sensorthings.answer import Answerer
from nilometer.server.sensorthings.conformance import settings_of
from nilometer.server.sensorthings.editor import Editor
from nilometer.server.sensorthings.intake import Intake, datastream_in
from nilometer.server.sensorthings.kinds import DATASTREAMS, FEATURES, KINDS, OBSERVATIONS, Kind
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.names import Id, literal
from nilometer.server.sensorthings.observations import Reader
from nilometer.server.sensorthings.sources import Sources, declared_in
from nilometer.server.sensorthings.store import EntityStore
from nilometer.server.sensorthings.writing import root_document, self_link
from nilometer.server.tokens import Role
from nilometer.server.who import WHO

if TYPE_CHECKING:
    from nilometer.server.desk import Desk
    from nilometer.server.sensorthings.mqtt import Bridge

CREATE_OBSERVATIONS = "CreateObservations"
JSON_PATCH = "application/json-patch+json"


@dataclass(frozen=True)
class Asked:
    """A request. `root` is the address of the service, `peer` who asks."""

    method: str
    path: str
    query: str = ""
    body: Any = None
    kind: str = "application/json"
    root: str = ""
    role: Role = Role.ADMIN
    peer: str = "http"


@dataclass(frozen=True)
class Reply:
    """A response; a text is written as it is, anything else as JSON."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Service:
    """The service behind /v1.1. `listeners` are told of changed entities."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.store = EntityStore(desk.directory)
        self.sources = Sources(desk.directory)
        self.intake = Intake(desk)
        self.broker: str | None = None
        self.listeners: list[Callable[[list[tuple[Kind, Id]]], None]] = []

    def connect(self, broker: str, root: str) -> Bridge:
        """Speak MQTT through a broker, too."""
        from nilometer.server.sensorthings.mqtt import Bridge

        bridge = Bridge(self, broker, f"{root}/v1.1")
        self.broker = bridge.endpoint
        self.listeners.append(bridge.changed)
        return bridge

    def begin(self) -> threading.Thread:
        """Declare, in a thread that waits for the station's loop, what a crash may have left undeclared."""
        thread = threading.Thread(target=self.declare, name="nilometer-sensorthings", daemon=True)
        if self.store.numbers(DATASTREAMS.name):
            thread.start()
        return thread

    def model(self, *, as_known: bool = False) -> Model:
        """All entities as they are now; `as_known`: without the sensors that have sent for the first time since the last
        look at the logs."""
        with self.desk.database() as database:
            declared = declared_in(database)
        return Model(self.sources.now(declared, as_known=as_known), self.store)

    def dispatch(self, asked: Asked) -> Reply:
        """Carry out a request."""
        path = asked.path.strip("/")
        self.check(asked)
        match asked.method:
            case "GET" | "HEAD":
                return self._get(asked, path)
            case "POST":
                return self._post(asked, path)
            case "PATCH" | "PUT":
                return self._update(asked, path)
            case "DELETE":
                return self._delete(asked, path)
        raise NotAllowedError(f"{asked.method[:20]} means nothing here")

    def check(self, asked: Asked) -> None:
        """Refuse what the caller's role does not allow."""
        needed = needed_role(asked.method, asked.path.strip("/"))
        if not asked.role.allows(needed):
            raise ForbiddenError(
                f"this needs the role '{needed}', and the token has the role '{asked.role}'",
                hint=f"make another: nilometer token create --role {needed}",
            )

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _get(self, asked: Asked, path: str) -> Reply:
        if not path:
            return Reply(200, root_document(asked.root, settings_of(self.broker)))
        model = self.model()
        reader = Reader(model)
        target = paths.resolve(model, reader, path)
        pairs = options.pairs_of(asked.query)
        found = Answerer(model, reader, asked.root).answer(target, options.parse(pairs, target.kind))
        if not target.raw:
            return Reply(200, found)
        return Reply(
            200, found if isinstance(found, str) else json.dumps(found), {"Content-Type": "text/plain"}
        )

    # ---- writing -----------------------------------------------------------------------------------------------------

    def _post(self, asked: Asked, path: str) -> Reply:
        if path == CREATE_OBSERVATIONS:
            from nilometer.server.sensorthings.data_array import observations_in

            pairs = observations_in(asked.body)
            outcomes = self.intake.take(self.model(), pairs, asked.peer)
            links = [
                f"error: {each.message}"
                if isinstance(each, NilometerError)
                else self_link(asked.root, OBSERVATIONS, each)
                for each in outcomes
            ]
            return Reply(201, links)
        model = self.model()
        target = _set_at(model, path)
        if target.kind is OBSERVATIONS:
            identity = self.intake.one(model, *_observed(target, asked.body), asked.peer)
        else:
            identity = self.create(model, target.kind, asked.body, target.parent, target.link, asked.peer)
        return _created(asked, target.kind, identity)

    def observe(self, several: Sequence[Asked]) -> list[Reply | NilometerError]:
        """Add the Observations of several requests together. What is wrong with one concerns no other."""
        first = self._observe(several, self.model(as_known=True))
        unknown = [number for number, outcome in enumerate(first) if isinstance(outcome, NotFoundError)]
        if unknown:
            again = self._observe([several[number] for number in unknown], self.model())
            for number, outcome in zip(unknown, again, strict=True):
                first[number] = outcome
        return first

    def _observe(self, several: Sequence[Asked], model: Model) -> list[Reply | NilometerError]:
        outcomes: dict[int, Reply | NilometerError] = {}
        found: dict[str, list[tuple[int, tuple[Id, Any]]]] = {}
        for number, asked in enumerate(several):
            try:
                self.check(asked)
                path = asked.path.strip("/")
                if path == OBSERVATIONS.name:
                    observation = datastream_in(asked.body), asked.body
                else:
                    observation = _observed(_set_at(model, path), asked.body)
                found.setdefault(asked.peer, []).append((number, observation))
            except NilometerError as error:
                outcomes[number] = error
        for peer, some in found.items():
            taken = self.intake.take(model, [observation for _, observation in some], peer, alone=True)
            for (number, _), outcome in zip(some, taken, strict=True):
                outcomes[number] = (
                    outcome
                    if isinstance(outcome, NilometerError)
                    else _created(several[number], OBSERVATIONS, outcome)
                )
        return [outcomes[number] for number in range(len(several))]

    def create(
        self,
        model: Model,
        kind: Kind,
        body: Any,
        parent: Entity | None = None,
        link: str | None = None,
        peer: str = "http",
    ) -> Id:
        """Make an entity with all that comes with it."""
        with self.store.turn:
            editor = Editor(model, self.store.begin())
            identity = editor.create(kind, body, parent, link)
            self.complete(editor)
        if editor.observations:
            outcomes = self.intake.take(self.model(), list(editor.observations), peer)
            for outcome in outcomes:
                if isinstance(outcome, NilometerError):
                    raise outcome
        return identity

    def complete(self, editor: Editor) -> None:
        """Make a change durable, and tell the catalog and those who listen."""
        if editor.touched and any(name == DATASTREAMS.name for name, _ in editor.change.put):
            catalog.ensure_stream(self.desk)
        self.store.commit(editor.change)
        told = [
            f"{verb} {name}({literal(identity)})"
            for verb, keys in (("put", editor.change.put), ("delete", editor.change.delete))
            for name, identity in keys
        ]
        audit.note(self.desk.directory, WHO.get(), "sensorthings", ", ".join(told))
        if editor.touched:
            self.declare(list(editor.touched))
        changed = [(KINDS[name], identity) for name, identity in editor.change.put]
        for listener in self.listeners:
            listener(changed)

    def declare(self, datastreams: list[int] | None = None) -> None:
        """Declare Datastreams as sensors of the stream `observations`, for SQL; all of them when the server begins."""
        try:
            catalog.declare(self.desk, self.model(), datastreams)
        except OwnerGoneError:
            return
        except NilometerError as error:
            # The entities are durable; their names in SQL follow with the next start.
            print(f"SensorThings: {error}", file=sys.stderr)

    def _update(self, asked: Asked, path: str) -> Reply:
        patch = asked.kind == JSON_PATCH
        if patch and asked.method == "PUT":
            raise ConfigurationError("a JSON Patch is sent with PATCH")
        with self.store.turn:
            model, target = self._entity(path)
            assert target.entity is not None
            editor = Editor(model, self.store.begin())
            editor.update(target.entity, asked.body, whole=asked.method == "PUT", patch=patch)
            self.complete(editor)
        return Reply(
            200,
            {
                "@iot.id": target.entity.id,
                "@iot.selfLink": self_link(asked.root, target.kind, target.entity.id),
            },
        )

    def _delete(self, asked: Asked, path: str) -> Reply:
        del asked
        with self.store.turn:
            model, target = self._entity(path)
            assert target.entity is not None
            editor = Editor(model, self.store.begin())
            editor.delete(target.entity)
            self.complete(editor)
        return Reply(200, {})

    def _entity(self, path: str) -> tuple[Model, paths.Target]:
        model = self.model()
        target = paths.resolve(model, Reader(model), path)
        if target.entity is None or target.property or target.ref:
            raise NotAllowedError(f"'{path[:80]}' is no entity", hint="name one by its id: Things(1)")
        return model, target


def needed_role(method: str, path: str) -> Role:
    """Who may do that: read entities, write observations, administer entities."""
    if method in ("GET", "HEAD") or path == "$batch":
        return Role.READ
    if method == "POST" and (path == CREATE_OBSERVATIONS or path.rpartition("/")[2] == OBSERVATIONS.name):
        return Role.WRITE
    return Role.ADMIN


def _set_at(model: Model, path: str) -> paths.Target:
    """The set that something is posted to."""
    target = paths.resolve(model, Reader(model), path)
    if target.entity is not None or target.ref:
        raise NotAllowedError(f"'{path[:80]}' is no set", hint="POST to a set: Things, Things(1)/Datastreams")
    return target


def _observed(target: paths.Target, body: Any) -> tuple[Id, Any]:
    """The Datastream and the body of an Observation that is posted to a set."""
    if target.parent is not None and target.parent.kind is FEATURES and isinstance(body, dict):
        body = {**body, "FeatureOfInterest": {"@iot.id": target.parent.id}}
    if target.parent is not None and target.parent.kind is DATASTREAMS:
        return target.parent.id, body
    return datastream_in(body), body


def _created(asked: Asked, kind: Kind, identity: Id) -> Reply:
    address = self_link(asked.root, kind, identity)
    # The created entity is a convenience; the standard asks for the address alone.
    return Reply(201, {"@iot.id": identity, "@iot.selfLink": address}, {"Location": address})
