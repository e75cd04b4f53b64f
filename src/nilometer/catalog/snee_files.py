"""Reads the files of SNEE: radio links (`.nss` and XML), schemas, the resources of sites.

- `.nss` is TOSSIM's: a line `source:target:bit error rate` for each direction of a link.
- `network-topology` lists radio links with energy, time and loss.
- A logical schema lists streams with columns; the schemas of the thesis also list the sites and the sink.
- A physical schema names the files of a sensor network, its gateway, and the sites of each stream.

Elements are compared by their local names: the releases of SNEE use different namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree as Xml

from nilometer.catalog.near_misses import near_misses
from nilometer.catalog.network import Link
from nilometer.catalog.text_files import read_text
from nilometer.errors import CatalogError
from nilometer.types import BOOLEAN, FLOAT, STRING, TIME, Column, Kind, Type

PACKET_BITS = 8 * 36
"""The bits of a TinyOS packet: 29 bytes of payload and 7 of header."""

TYPES = {
    "integer": Type(Kind.INT, 16),
    "smallint": Type(Kind.INT, 16),
    "float": Type(Kind.FLOAT, 32),
    "real": FLOAT,
    "double": FLOAT,
    "decimal": FLOAT,
    "numeric": FLOAT,
    "boolean": BOOLEAN,
    "string": STRING,
    "varchar": STRING,
    "char": STRING,
    "timestamp": TIME,
    "time": TIME,
    "date": TIME,
}
"""SNEE's types. An integer has two bytes on the radio (Types.xml)."""

ENERGY = {"MILLIJOULES": 1e-3, "JOULES": 1.0, "KILOJOULES": 1e3, "MEGAJOULES": 1e6}
MEMORY = {"BYTES": 1, "KILOBYTES": 1024, "MEGABYTES": 1024 * 1024}


@dataclass(frozen=True)
class SneeStream:
    """A stream of a schema. `pulled` streams are sensed at the query's acquisition interval."""

    name: str
    pulled: bool
    columns: tuple[Column, ...]
    sites: tuple[int, ...] = ()


@dataclass(frozen=True)
class SneeSchema:
    """The streams of a schema, and the sink, if the file names one."""

    streams: tuple[SneeStream, ...]
    sink: int | None = None


@dataclass(frozen=True)
class Resources:
    """The resources of a site: energy in joules, memory in bytes."""

    energy: float | None = None
    ram: int | None = None
    flash: int | None = None


@dataclass(frozen=True)
class SiteResources:
    """The resources of all sites."""

    default: Resources = Resources()
    sites: Mapping[int, Resources] = field(default_factory=dict)

    def of(self, site: int) -> Resources:
        """The resources of a site."""
        return self.sites.get(site, self.default)


@dataclass(frozen=True)
class PhysicalSchema:
    """A sensor network as a physical schema describes it; paths are those of the files."""

    topology: Path
    resources: Path | None
    sink: int
    sites: Mapping[str, tuple[int, ...]]


# ---- radio links -----------------------------------------------------------------------------------------------------


def read_nss(path: Path) -> list[Link]:
    """The links of a TOSSIM file. A packet arrives if all its bits do."""
    links = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        parts = text.split(":")
        try:
            source, target, errors = int(parts[0]), int(parts[1]), float(parts[2])
        except (ValueError, IndexError):
            _fail(
                path,
                number,
                "is no link",
                f"found '{text}'",
                "write source:target:bit error rate, as 0:1:0.0",
            )
        if not 0 <= errors < 1:
            _fail(path, number, "has no bit error rate", f"found {parts[2]}", "it is at least 0 and below 1")
        links.append(Link(source, target, (1 - errors) ** PACKET_BITS))
    return links


def read_topology(path: Path) -> list[Link]:
    """The links of a `network-topology`. Their energy is the cost of routing."""
    links = []
    for element in _all(_root(path, "network-topology"), "radio-link"):
        source, target = _number(path, element, "source"), _number(path, element, "dest")
        loss = _float(path, "<radio-link radio-loss>", element.get("radio-loss", "0"))
        if not 0 <= loss < 1:
            raise CatalogError(
                f"{path.name}: the link from {source:g} to {target:g} loses everything",
                detail=f"its radio-loss is {loss:g}",
                hint="radio-loss is the share of lost packets: at least 0 and below 1",
            )
        energy = _float(path, "<radio-link energy>", element.get("energy", "1"))
        link = Link(int(source), int(target), 1 - loss, energy or 1.0)
        links.append(link)
        if element.get("bidirectional", "true").strip() == "true":
            links.append(link.reverse)
    return links


# ---- schemas ---------------------------------------------------------------------------------------------------------


def read_schema(path: Path) -> SneeSchema:
    """The streams of a logical schema."""
    root = _root(path, "schema")
    sinks = _integers(path, _text(root, "sinks") or "")
    streams = []
    for element in _children(root, "stream"):
        name = element.get("name", "")
        columns = tuple(_column(path, name, column) for column in _children(element, "column"))
        pulled = element.get("type", "pull") == "pull"
        streams.append(SneeStream(name, pulled, columns, _integers(path, _text(element, "sites") or "")))
    if not streams:
        raise CatalogError(
            f"{path.name} declares no stream", hint="a logical schema of SNEE has <stream> elements"
        )
    return SneeSchema(tuple(streams), sinks[0] if sinks else None)


def read_physical(path: Path) -> PhysicalSchema:
    """The sensor network of a physical schema."""
    root = _root(path, "source")
    network = next(iter(_children(root, "sensor_network")), None)
    if network is None:
        raise CatalogError(
            f"{path.name} has no sensor network", hint="a network is read from its <sensor_network>"
        )
    topology = _text(network, "topology")
    if not topology:
        raise CatalogError(f"{path.name} names no topology", hint="write <topology>file</topology>")
    gateways = _integers(path, _text(network, "gateways") or "")
    if len(gateways) != 1:
        raise CatalogError(
            f"{path.name} has {len(gateways) or 'no'} gateways", hint="a routing tree has one root: name one"
        )
    sites = {
        extent.get("name", ""): _integers(path, _text(extent, "sites") or "")
        for extent in _all(network, "extent")
    }
    resources = _text(network, "site-resources")
    return PhysicalSchema(
        _beside(path, topology), None if not resources else _beside(path, resources), gateways[0], sites
    )


def read_resources(path: Path) -> SiteResources:
    """The energy and the memory of the sites."""
    root = _root(path, "site-resources")
    energy = _unit(path, root, "energy", ENERGY, "JOULES")
    memory = _unit(path, root, "memory", MEMORY, "BYTES")

    def of(element: Xml.Element) -> Resources:
        values = {name: _text(element, name) for name in ("energy-stock", "ram", "flash-memory")}
        found = {name: _float(path, name, text) for name, text in values.items() if text}
        ram, flash = found.get("ram"), found.get("flash-memory")
        return Resources(
            None if "energy-stock" not in found else energy * found["energy-stock"],
            None if ram is None else round(memory * ram),
            None if flash is None else round(memory * flash),
        )

    default = next(iter(_all(root, "default")), None)
    sites = {int(_number(path, site, "id")): of(site) for site in _all(root, "site")}
    return SiteResources(Resources() if default is None else of(default), sites)


def root_name(path: Path) -> str:
    """The name of a file's root element, which says what the file is."""
    return _local(_parse(path))


# ---- XML -------------------------------------------------------------------------------------------------------------


def _parse(path: Path) -> Xml.Element:
    try:
        return Xml.fromstring(read_text(path))
    except Xml.ParseError as error:
        raise CatalogError(f"{path.name} is not XML", detail=str(error)) from None


def _root(path: Path, name: str) -> Xml.Element:
    root = _parse(path)
    if _local(root) != name:
        raise CatalogError(f"{path.name} is a <{_local(root)}>", hint=f"a <{name}> of SNEE is needed here")
    return root


def _local(element: Xml.Element) -> str:
    return element.tag.rsplit("}", 1)[-1]


def _children(element: Xml.Element, name: str) -> Iterator[Xml.Element]:
    return (child for child in element if _local(child) == name)


def _all(element: Xml.Element, name: str) -> Iterator[Xml.Element]:
    return (child for child in element.iter() if _local(child) == name)


def _text(element: Xml.Element, name: str) -> str | None:
    found = next(iter(_children(element, name)), None)
    return None if found is None or found.text is None else found.text.strip()


def _column(path: Path, stream: str, element: Xml.Element) -> Column:
    name = element.get("name", "")
    said = next((child.get("class", "") for child in _children(element, "type")), "")
    if said.lower() not in TYPES:
        raise CatalogError(
            f"{path.name}: '{stream}.{name}' has no type '{said}'", hint=near_misses(said, TYPES)
        )
    return Column(name, TYPES[said.lower()])


def _integers(path: Path, text: str) -> tuple[int, ...]:
    """A list such as `1,2,5-9`."""
    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise CatalogError(f"{path.name}: '{part}' is no site", hint="sites are numbers: 1,2,5-9")
        numbers += range(int(first), int(last if dash else first) + 1)
    return tuple(numbers)


def _number(path: Path, element: Xml.Element, name: str) -> float:
    return _float(path, f"<{_local(element)} {name}>", element.get(name, ""))


def _float(path: Path, name: str, text: str) -> float:
    try:
        found = float(text)
        if not isfinite(found):
            raise ValueError(text)
        return found
    except ValueError:
        raise CatalogError(f"{path.name}: {name} is no number", detail=f"found '{text}'") from None


def _unit(path: Path, root: Xml.Element, name: str, known: Mapping[str, float], default: str) -> float:
    units = next(iter(_children(root, "units")), None)
    said = (None if units is None else _text(units, name)) or default
    if said.upper() not in known:
        raise CatalogError(f"{path.name}: '{said}' is no unit of {name}", hint=near_misses(said, known))
    return known[said.upper()]


def _beside(path: Path, name: str) -> Path:
    """A file that another one names. SNEE's names are relative to the directory above."""
    places = (path.parent / name, path.parent.parent / name, path.parent / Path(name).name)
    for place in places:
        if place.is_file():
            return place
    raise CatalogError(
        f"{path.name} names '{name}', which is not there",
        detail=f"looked in {path.parent.name or '.'} and above it",
        hint="put the file beside it",
    )


def _fail(path: Path, line: int, message: str, detail: str, hint: str) -> NoReturn:
    raise CatalogError(f"{path.name}, line {line} {message}", detail=detail, hint=hint)
