"""$batch in JSON (OGC 18-088, section 11; OData JSON 4.01): several requests in one, carried out in order.

    {"requests": [{"id": "1", "method": "post", "url": "Things", "body": {...}},
                  {"id": "2", "method": "post", "url": "$1/Datastreams", "body": {...}}]}

`$id` in a url, or as an `@iot.id`, is the entity that an earlier request of the batch made. Requests of one
atomicityGroup that make, change or delete entities are one change of the store: all of them, or none.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote, urlsplit

from nilometer.errors import ConfigurationError, NilometerError
from nilometer.server.problems import NotImplementedYetError, internal, problem_of, status_of
from nilometer.server.sensorthings import paths
from nilometer.server.sensorthings.editor import Editor
from nilometer.server.sensorthings.kinds import KINDS, OBSERVATIONS
from nilometer.server.sensorthings.model import Entity
from nilometer.server.sensorthings.names import Id, literal
from nilometer.server.sensorthings.observations import Reader
from nilometer.server.sensorthings.service import Asked, Reply, Service
from nilometer.server.sensorthings.writing import self_link

MOST = 1_000
"""The most requests of a batch."""

Made = dict[str, tuple[str, Id]]
"""By the id of a request, the set and id of the entity that it made."""


def run(service: Service, asked: Asked) -> Reply:
    """Carry out a batch. Requests after one that failed are carried out, too."""
    requests = asked.body.get("requests") if isinstance(asked.body, dict) else None
    if not isinstance(requests, list) or not all(isinstance(each, dict) for each in requests):
        raise ConfigurationError('a batch is {"requests": [{"id", "method", "url", "body"}, ...]}')
    if len(requests) > MOST:
        raise ConfigurationError(f"a batch has at most {MOST:,} requests")
    seen: set[str] = set()
    for each in requests:
        name = each.get("id")
        if not isinstance(name, str) or name in seen:
            raise ConfigurationError(
                "every request of a batch has an id of its own", detail=f"found {str(name)[:40]!r}"
            )
        seen.add(name)
    made: Made = {}
    responses: list[dict[str, Any]] = []
    place = 0
    while place < len(requests):
        group = requests[place].get("atomicityGroup")
        end = place + 1
        while group is not None and end < len(requests) and requests[end].get("atomicityGroup") == group:
            end += 1
        if group is None:
            responses.append(_single(service, asked, requests[place], made))
        else:
            responses += _group(service, asked, requests[place:end], made)
        place = end
    return Reply(200, {"responses": responses})


def _single(service: Service, asked: Asked, request: dict[str, Any], made: Made) -> dict[str, Any]:
    try:
        inner = _asked(asked, request, made)
        reply = service.dispatch(inner)
        if reply.status == 201 and isinstance(reply.body, dict):
            kind = _kind_of(reply.body["@iot.selfLink"], asked.root)
            made[request["id"]] = (kind, reply.body["@iot.id"])
    except NilometerError as error:
        return _failed(request, error)
    except Exception as error:
        return _failed(request, internal(error))
    return _response(request, reply)


def _response(request: dict[str, Any], reply: Reply) -> dict[str, Any]:
    found: dict[str, Any] = {"id": request["id"], "status": reply.status}
    if "Location" in reply.headers:
        found["location"] = reply.headers["Location"]
    if reply.body is not None:
        found["body"] = reply.body
    return found


def _failed(request: dict[str, Any], error: NilometerError) -> dict[str, Any]:
    return {"id": request["id"], "status": status_of(error), "body": problem_of(error)}


def _asked(asked: Asked, request: dict[str, Any], made: Made) -> Asked:
    method, url = request.get("method"), request.get("url")
    if not isinstance(method, str) or not isinstance(url, str):
        raise ConfigurationError("a request of a batch has a method and a url")
    if url.startswith(asked.root):
        url = url[len(asked.root) :]
    url = url.removeprefix("/v1.1").lstrip("/")
    split = urlsplit(url)
    path = unquote(split.path)
    first, slash, rest = path.partition("/")
    if first.startswith("$") and first[1:] in made:
        kind, identity = made[first[1:]]
        path = f"{kind}({literal(identity)}){slash}{rest}"
    if path == "$batch":
        raise ConfigurationError("a batch contains no other batch")
    headers = request.get("headers")
    kinds = (
        [value for name, value in headers.items() if name.lower() == "content-type"]
        if isinstance(headers, dict)
        else []
    )
    return Asked(
        method.upper(),
        path,
        split.query,
        _referred(request.get("body"), made),
        str(kinds[0]).split(";")[0].strip() if kinds else "application/json",
        asked.root,
        asked.role,
        asked.peer,
    )


def _referred(body: Any, made: Made) -> Any:
    """The body with `"@iot.id": "$1"` replaced by the id of what request 1 made."""
    if isinstance(body, list):
        return [_referred(each, made) for each in body]
    if not isinstance(body, dict):
        return body
    found = {}
    for name, value in body.items():
        if name == "@iot.id" and isinstance(value, str) and value.startswith("$") and value[1:] in made:
            found[name] = made[value[1:]][1]
        else:
            found[name] = _referred(value, made)
    return found


def _kind_of(address: str, root: str) -> str:
    return address[len(root) + 1 :].partition("(")[0]


def _group(
    service: Service, asked: Asked, requests: list[dict[str, Any]], made: Made
) -> list[dict[str, Any]]:
    """Entities that are made, changed or deleted together."""
    inside: Made = dict(made)
    replies: list[Reply] = []
    request = requests[0]
    try:
        with service.store.turn:
            model = service.model()
            editor = Editor(model, service.store.begin())
            for request in requests:
                one = _asked(asked, request, inside)
                service.check(one)
                replies.append(_step(editor, one, request, inside))
            if editor.observations:
                raise NotImplementedYetError(
                    "readings cannot be part of an atomicityGroup",
                    hint="send Observations in requests of their own",
                )
            service.complete(editor)
    except NilometerError as error:
        problem = _failed(request, error)
        undone = {"id": "", "status": 424, "body": {"detail": f"request {request['id']} of the group failed"}}
        return [problem if each is request else {**undone, "id": each["id"]} for each in requests]
    made |= inside
    return [_response(each, reply) for each, reply in zip(requests, replies, strict=True)]


def _step(editor: Editor, one: Asked, request: dict[str, Any], inside: Made) -> Reply:
    model = editor.model
    segments = paths.divided(one.path)
    first = segments[0] if segments else None
    if one.method == "GET" or first is None or first.name not in KINDS:
        raise NotImplementedYetError("an atomicityGroup has requests that make, change or delete entities")
    if one.path.rpartition("/")[2] == OBSERVATIONS.name:
        raise NotImplementedYetError(
            "readings cannot be part of an atomicityGroup", hint="send Observations in requests of their own"
        )
    fresh = first.key is not None and (first.name, first.key) in editor.change.put
    if fresh:
        assert first.key is not None
        stored = editor.change.put[first.name, first.key]
        target = paths.Target(
            KINDS[first.name], one.path, entity=Entity(KINDS[first.name], first.key, dict(stored.properties))
        )
        if len(segments) == 2 and (link := target.kind.link(segments[1].name)) is not None and link.many:
            target = paths.Target(KINDS[link.to], one.path, ids=(), parent=target.entity, link=link.name)
        elif len(segments) > 1:
            raise NotImplementedYetError("this path is not known inside an atomicityGroup")
    else:
        target = paths.resolve(model, Reader(model), one.path)
    if one.method == "POST" and target.entity is None:
        identity = editor.create(target.kind, one.body, target.parent, target.link)
        inside[request["id"]] = (target.kind.name, identity)
        address = self_link(one.root, target.kind, identity)
        return Reply(201, {"@iot.id": identity, "@iot.selfLink": address}, {"Location": address})
    if target.entity is None or target.property:
        raise ConfigurationError(f"{one.method} of '{one.path[:80]}' is not possible")
    if one.method == "DELETE":
        editor.delete(target.entity)
        return Reply(200, {})
    editor.update(
        target.entity, one.body, whole=one.method == "PUT", patch=one.kind == "application/json-patch+json"
    )
    return Reply(200, {"@iot.id": target.entity.id})


def observations_in(body: Any) -> int:
    """How many observations a batch adds."""
    found = 0
    for each in body["requests"]:
        if str(each.get("method")).upper() == "POST":
            url = str(each.get("url")).partition("?")[0]
            found += url.rpartition("/")[2] == OBSERVATIONS.name
            if url.rpartition("/")[2] == "CreateObservations" and isinstance(each.get("body"), list):
                groups = [group for group in each["body"] if isinstance(group, dict)]
                found += sum(
                    len(group["dataArray"]) for group in groups if isinstance(group.get("dataArray"), list)
                )
    return found


def parse_body(data: bytes) -> Any:
    """The JSON of a body. Raises ConfigurationError."""
    try:
        if not data.strip():
            return None
        return _DECODER.decode(data.decode(json.detect_encoding(data), "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError("the body is no JSON", detail=str(error)[:200]) from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
"""json.loads would make one for every body."""
