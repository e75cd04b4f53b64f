"""Reads a network from a TOML, CSV or GeoJSON file, or from the files of SNEE.

- TOML: `[network]` with `sink`, `profile`, `retries` and `range`, `[defaults]` for all nodes, `[[nodes]]` (or
  `nodes`, the name of a CSV file of nodes), `[[links]]`, and `[profile]` with parameters that differ. Nodes
  within `range` of each other are linked, in addition to the listed links.
- CSV: a file of links (`source,target,quality,cost`) and, optionally, a file of nodes beside it (`links.csv`
  and `nodes.csv`, `brook.csv` and `brook-nodes.csv`).
- GeoJSON: Points are nodes. LineStrings are links, by the properties `source` and `target` or by the places
  of their ends.
- SNEE: `.nss` and `network-topology` XML list links; a schema says which sites sense what, and `site-resources`
  what they have. A physical schema names all of these.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from nilometer.catalog.near_misses import join_names, near_misses
from nilometer.catalog.network import CostProfile, Link, Network, NetworkNode, NodeId
from nilometer.catalog.profiles import DEFAULT_PROFILE, cost_profile
from nilometer.catalog.radio_range import least_range, links_within
from nilometer.catalog.text_files import CsvFile, CsvRow, read_csv, read_geojson, read_text, typed
from nilometer.errors import CatalogError
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

NODE_KEYS = ("id", "ram", "flash", "energy", "x", "y", "location", "streams", "sink")
LINK_KEYS = ("source", "target", "quality", "cost")
TOP_KEYS = ("sink", "retries", "range", "profile", "network", "defaults", "nodes", "links")

FARTHEST = 1e15
"""Beyond this a place, a cost or an energy is a mistake, and the square of a distance loses its digits."""

Fail = Callable[[str, str | None, str | None], NoReturn]
"""Raises a CatalogError with message, detail and hint, and the place in the file."""


def import_network(
    path: str | Path,
    name: str,
    sink: NodeId | None = None,
    retries: int | None = None,
    *,
    schema: Path | None = None,
    resources: Path | None = None,
) -> Network:
    """The network in the file, under that name; `sink` and `retries` override those in the file. `schema` and
    `resources` are SNEE's files beside a topology of SNEE's."""
    path = Path(path)
    if path.suffix.lower() in (".nss", ".xml"):
        found = _from_snee(path, name, sink, schema, resources)
    elif schema is not None or resources is not None:
        raise CatalogError(
            f"{path.name} takes no SCHEMA and no RESOURCES",
            hint="they are files of SNEE's, for an .nss or .xml topology",
        )
    else:
        found = _read(path, name, sink)
    return found if retries is None else replace(found, retries=retries)


def _read(path: Path, name: str, sink: NodeId | None) -> Network:
    match path.suffix.lower():
        case ".toml":
            return _from_toml(path, name, sink)
        case ".geojson" | ".json":
            return _from_geojson(path, name, sink)
        case ".csv":
            return _from_csv(path, name, sink)
    raise CatalogError(
        f"cannot tell what '{path.name}' is",
        hint="a network is read from .toml, .csv or .geojson, or SNEE's .nss or .xml",
    )


def _network(
    path: Path,
    name: str,
    sink: NodeId | None,
    nodes: list[NetworkNode],
    links: list[Link],
    profile: CostProfile,
    retries: Any = 0,
) -> Network:
    if not nodes:
        raise CatalogError(
            f"{path.name} has no nodes",
            hint="list them, and the links between them: docs/placement.md shows how",
        )
    if sink is None:
        said = (
            f"sink = {nodes[0].id!r} in the file"
            if path.suffix.lower() == ".toml"
            else f"sink true at one node of {_nodes_beside(path).name}"
            if path.suffix.lower() == ".csv"
            else "<sinks> in the schema"
            if path.suffix.lower() in (".nss", ".xml")
            else "sink: true at one node"
        )
        raise CatalogError(
            f"{path.name} does not say which node is the sink",
            hint=f"say it: {said}, or CREATE NETWORK {name} FROM '{path.name}' SINK {nodes[0].id!r}",
        )
    # A file may write one id as a number in one place and as text in another.
    known = {str(node.id): node.id for node in nodes}
    ends = (
        (known.get(str(link.source), link.source), known.get(str(link.target), link.target)) for link in links
    )
    joined = tuple(Link(*pair, link.quality, link.cost) for pair, link in zip(ends, links, strict=True))
    if isinstance(retries, bool) or not isinstance(retries, int):
        _failing(path.name)("'retries' is not a whole number", f"retries is {retries!r}", "write retries = 3")
    return Network(name, known.get(str(sink), sink), tuple(nodes), joined, profile, retries)


# ---- TOML ------------------------------------------------------------------------------------------------------------


def _from_toml(path: Path, name: str, sink: NodeId | None) -> Network:
    try:
        whole = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{path.name} is not TOML", detail=str(error).lower()) from None
    # These keys are also accepted outside of [network], where one would first write them.
    plain, again, heard = whole.pop("sink", None), whole.pop("retries", 0), whole.pop("range", None)
    profile_name = whole.pop("profile") if isinstance(whole.get("profile"), str) else DEFAULT_PROFILE
    _known_keys(whole, TOP_KEYS, _failing(path.name))
    head, defaults = _table(path, whole, "network"), _table(path, whole, "defaults")
    _known_keys(head, ("sink", "profile", "retries", "range"), _failing(f"{path.name}, [network]"))
    _known_keys(defaults, ("ram", "flash", "energy", "streams"), _failing(f"{path.name}, [defaults]"))
    listed = whole.get("nodes")
    if isinstance(listed, str):
        rows = list(_csv_rows(read_csv(path.parent / listed)))
    else:
        rows = [
            (row, _failing(f"{path.name}, [[nodes]] {number}"))
            for number, row in enumerate(_rows(path, whole, "nodes"), 1)
        ]
    nodes = [_node(defaults | row, fail) for row, fail in rows]
    links = [
        _link(row, _failing(f"{path.name}, [[links]] {number}"))
        for number, row in enumerate(_rows(path, whole, "links"), 1)
    ]
    fail = _failing(f"{path.name}, [profile]")
    changed = {key: _number(value, key, fail) for key, value in _table(path, whole, "profile").items()}
    try:
        profile = cost_profile(str(head.get("profile", profile_name)), changed)
    except CatalogError as error:
        _failing(path.name)(error.message, error.detail, error.hint)
    said = head.get("sink", plain)
    marked = [node.id for node, (row, _) in zip(nodes, rows, strict=True) if row.get("sink") is True]
    if sink is None:
        sink = _only_sink(path, marked if said is None else (said, *marked))
    # The sink is a base station: it senses only the streams of its own entry, not those of the defaults.
    bare = {node.id for node, (row, _) in zip(nodes, rows, strict=True) if "streams" not in row}
    nodes = [
        replace(node, streams=()) if str(node.id) == str(sink) and node.id in bare else node for node in nodes
    ]
    links += _within(path, nodes, links, head.get("range", heard))
    return _network(path, name, sink, nodes, links, profile, head.get("retries", again))


def _within(path: Path, nodes: list[NetworkNode], links: list[Link], heard: Any) -> list[Link]:
    """The links between nodes within range of each other that the file does not list."""
    if heard is None:
        return []
    fail = _failing(path.name)
    distance = _number(heard, "range", fail)
    if not 0 < distance < math.inf:
        fail("'range' is no distance", f"range is {heard!r}", "write how far a radio is heard: range = 30")
    nowhere = [str(node.id) for node in nodes if node.location is None]
    if nowhere:
        fail(
            "a range needs places",
            f"there are none of {join_names(nowhere, 'and')}",
            "give each node x and y",
        )
    known = {frozenset((str(link.source), str(link.target))) for link in links}
    placed = [(node.id, node.location) for node in nodes if node.location is not None]
    least = least_range([place for _, place in placed]) if placed and not links else 0.0
    if least > distance:
        fail(
            f"a range of {distance:g} does not connect all nodes",
            f"the least that connects all {len(placed)} is {least:.6g}",
            f"write range = {math.ceil(least * 10) / 10:g}, or list the additional links",
        )
    return [
        link
        for link in links_within(placed, distance)
        if frozenset((str(link.source), str(link.target))) not in known
    ]


def _only_sink(path: Path, marked: Iterable[NodeId]) -> NodeId | None:
    """The node that is marked as the sink, or None."""
    fail = _failing(path.name)
    found = list({str(_identifier({"sink": sink}, "sink", fail)): sink for sink in marked}.values())
    if len(found) > 1:
        raise CatalogError(
            f"{path.name} has several sinks",
            detail=f"{join_names(map(str, found), 'and')} are marked",
            hint="a routing tree has one root: mark one, and make a network of its own for each other",
        )
    return found[0] if found else None


def _table(path: Path, whole: dict[str, Any], key: str) -> dict[str, Any]:
    found = whole.get(key, {})
    if not isinstance(found, dict):
        raise CatalogError(f"{path.name}: '{key}' is not a table", hint=f"write [{key}] above it")
    return found


def _rows(path: Path, whole: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = whole.get(key, [])
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise CatalogError(
            f"{path.name}: '{key}' is not a list of tables", hint=f"write [[{key}]] above each"
        )
    return found


# ---- CSV -------------------------------------------------------------------------------------------------------------


def _from_csv(path: Path, name: str, sink: NodeId | None) -> Network:
    link_file = read_csv(path)
    link_file.require("source", "target")
    _known_keys(link_file.columns, LINK_KEYS, _failing(f"{path.name}, line 1"))
    node_path = _nodes_beside(path)
    node_file = read_csv(node_path) if node_path.exists() and node_path != path else None
    texts = [row.required(end) for row in link_file.rows for end in ("source", "target")]
    if node_file is not None:
        node_file.require("id")
        texts += [row.required("id") for row in node_file.rows]
    # All ids have one type: numbers only if every id is a number.
    identifiers = dict(zip(texts, typed(texts), strict=True))
    links = [_csv_link(row, identifiers) for row in link_file.rows]
    if node_file is None:
        ids = dict.fromkeys(end for link in links for end in (link.source, link.target))
        nodes = [NetworkNode(identifier) for identifier in ids]
        marked: list[NodeId] = []
    else:
        nodes, marked = _csv_nodes(node_file, identifiers)
    if sink is None:
        sink = _only_sink(node_path, marked)
    return _network(path, name, sink, nodes, links, cost_profile(DEFAULT_PROFILE))


def _nodes_beside(path: Path) -> Path:
    if "links" in path.name:
        return path.with_name(path.name.replace("links", "nodes"))
    return path.with_name(f"{path.stem}-nodes{path.suffix}")


def _csv_link(row: CsvRow, identifiers: Mapping[str, NodeId]) -> Link:
    quality, cost = row.number("quality"), row.number("cost")
    return Link(
        identifiers[row.cells["source"]],
        identifiers[row.cells["target"]],
        1.0 if quality is None else quality,
        1.0 if cost is None else cost,
    )


def _csv_nodes(file: CsvFile, identifiers: Mapping[str, NodeId]) -> tuple[list[NetworkNode], list[NodeId]]:
    nodes: list[NetworkNode] = []
    sinks: list[NodeId] = []
    for raw, fail in _csv_rows(file, identifiers):
        nodes.append(_node(raw, fail))
        if raw.get("sink"):
            sinks.append(nodes[-1].id)
    return nodes, sinks


def _csv_rows(
    file: CsvFile, identifiers: Mapping[str, NodeId] | None = None
) -> Iterator[tuple[dict[str, Any], Fail]]:
    """The nodes of a file as plain values, each with a function that raises an error at its place."""
    file.require("id")
    _known_keys(file.columns, NODE_KEYS, _failing(f"{file.path.name}, line 1"))
    if identifiers is None:
        texts = [row.required("id") for row in file.rows]
        identifiers = dict(zip(texts, typed(texts), strict=True))
    for row in file.rows:
        raw: dict[str, Any] = {"id": identifiers[row.cells["id"]]}
        if row.cells.get("streams"):
            raw["streams"] = row.cells["streams"]
        for column in ("ram", "flash", "energy", "x", "y"):
            number = row.number(column)
            if number is not None:
                raw[column] = int(number) if number.is_integer() else number
        if row.cells.get("sink", "").lower() in ("true", "1", "yes"):
            raw["sink"] = True
        yield raw, _failing(f"{file.path.name}, line {row.line}")


# ---- GeoJSON ---------------------------------------------------------------------------------------------------------


def _from_geojson(path: Path, name: str, sink: NodeId | None) -> Network:
    whole, features = read_geojson(path)
    nodes: list[NetworkNode] = []
    places: dict[tuple[float, float], NodeId] = {}
    marked = [whole["sink"]] if whole.get("sink") is not None else []
    for feature in features:
        if feature.geometry == "Point":
            fail = _failing(f"{path.name}, feature {feature.number}")
            # GeoJSON carries properties for many readers; only ours are read.
            raw = {key: value for key, value in feature.properties.items() if key in NODE_KEYS}
            node = _node(raw | {"location": feature.positions[0]}, fail)
            nodes.append(node)
            places[feature.positions[0]] = node.id
            marked += [node.id] if feature.properties.get("sink") is True else []
    links = []
    for feature in features:
        if feature.geometry != "LineString":
            continue
        raw = {key: value for key, value in feature.properties.items() if key in LINK_KEYS}
        for end, place in (("source", feature.positions[0]), ("target", feature.positions[-1])):
            if end not in raw and place not in places:
                feature.fail(
                    f"no node at its {'start' if end == 'source' else 'end'}",
                    f"it is at {place}",
                    "name the nodes by the properties source and target, or end the line at a node's very place",
                )
            raw.setdefault(end, places.get(place))
        links.append(_link(raw, _failing(f"{path.name}, feature {feature.number}")))
    profile = cost_profile(str(whole.get("profile", DEFAULT_PROFILE)))
    sink = _only_sink(path, marked) if sink is None else sink
    return _network(path, name, sink, nodes, links, profile, whole.get("retries", 0))


# ---- SNEE ------------------------------------------------------------------------------------------------------------


def _from_snee(
    path: Path, name: str, sink: NodeId | None, schema: Path | None, resources: Path | None
) -> Network:
    from nilometer.catalog import snee_files as snee

    sites: dict[str, tuple[int, ...]] = {}
    if path.suffix.lower() == ".xml" and snee.root_name(path) == "source":
        physical = snee.read_physical(path)
        sites = dict(physical.sites)
        sink = physical.sink if sink is None else sink
        resources = physical.resources if resources is None else resources
        path = physical.topology
    links = snee.read_nss(path) if path.suffix.lower() == ".nss" else snee.read_topology(path)
    if schema is not None:
        declared = snee.read_schema(schema)
        sites |= {stream.name: stream.sites for stream in declared.streams if stream.sites}
        sink = declared.sink if sink is None else sink
    owned = snee.SiteResources() if resources is None else snee.read_resources(resources)
    nodes = []
    for site in dict.fromkeys(int(end) for link in links for end in (link.source, link.target)):
        has = owned.of(site)
        senses = tuple(stream for stream, places in sites.items() if site in places)
        # The sink has mains power, whatever the defaults of the file say.
        energy = None if site == sink else has.energy
        nodes.append(NetworkNode(site, has.ram, has.flash, energy, None, senses))
    return _network(path, name, sink, nodes, links, cost_profile(DEFAULT_PROFILE))


# ---- nodes and links from plain values -------------------------------------------------------------------------------


def _node(raw: Mapping[str, Any], fail: Fail) -> NetworkNode:
    _known_keys(raw, NODE_KEYS, fail)
    place = raw.get("location")
    if place is None and ("x" in raw or "y" in raw):
        place = (raw.get("x"), raw.get("y"))
    if place is not None:
        if not isinstance(place, list | tuple) or len(place) != 2:
            fail("a location is two numbers", f"found {place!r}", "write location = [x, y]")
        place = (_number(place[0], "x", fail), _number(place[1], "y", fail))
    streams = raw.get("streams", ())
    if isinstance(streams, str):
        streams = [part for part in streams.replace(",", " ").replace(";", " ").split() if part]
    if not isinstance(streams, list | tuple) or not all(isinstance(stream, str) for stream in streams):
        fail("streams are a list of names", f"found {streams!r}", 'write streams = ["river"]')
    return NetworkNode(
        _identifier(raw, "id", fail),
        _whole(raw.get("ram"), "ram", fail),
        _whole(raw.get("flash"), "flash", fail),
        None if raw.get("energy") is None else _number(raw["energy"], "energy", fail),
        place,
        tuple(streams),
    )


def _link(raw: Mapping[str, Any], fail: Fail) -> Link:
    _known_keys(raw, LINK_KEYS, fail)
    return Link(
        _identifier(raw, "source", fail),
        _identifier(raw, "target", fail),
        _number(raw.get("quality", 1.0), "quality", fail),
        _number(raw.get("cost", 1.0), "cost", fail),
    )


def _identifier(raw: Mapping[str, Any], key: str, fail: Fail) -> NodeId:
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | str):
        found = "there is none" if value is None else f"{key} is {value!r}"
        fail(f"'{key}' must be an id", found, "an id is a whole number or a string")
    if isinstance(value, int) and not INT_MINIMUM <= value <= INT_MAXIMUM:
        fail(f"'{key}' is too large for an id", f"{key} is {value}", "write it as a string")
    return value


def _number(value: Any, key: str, fail: Fail) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        fail(f"'{key}' is not a number", f"{key} is {value!r}", "write it without quotes and unit")
    if value != value:
        fail(f"'{key}' is not a number", f"{key} is nan", "give a number, or leave it out")
    if not -FARTHEST <= value <= FARTHEST:
        fail(f"'{key}' is out of range", f"{key} is {value!r}", f"the greatest number here is {FARTHEST:.0e}")
    return float(value)


def _whole(value: Any, key: str, fail: Fail) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        fail(f"'{key}' is not a whole number of bytes", f"{key} is {value!r}", "4 KB are 4096")
    return value


def _known_keys(raw: Mapping[str, Any], known: tuple[str, ...], fail: Fail) -> None:
    for key in raw:
        if key not in known:
            fail(f"'{key}' has no meaning here", None, near_misses(key, known))


def _failing(where: str) -> Fail:
    def fail(message: str, detail: str | None, hint: str | None) -> NoReturn:
        raise CatalogError(f"{where}: {message}", detail=detail, hint=hint)

    return fail
