"""The query options: $filter $orderby $top $skip $count $select $expand $resultFormat, at the top and inside $expand.

>>> from nilometer.server.sensorthings.kinds import THINGS
>>> found = parse([("$expand", "Datastreams($top=1;$expand=Observations($top=1)),Locations")], THINGS)
>>> [(each.link.name, each.options.top) for each in found.expand]
[('Datastreams', 1), ('Locations', None)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote_plus

from nilometer.errors import BindError, ConfigurationError, QuerySyntaxError
from nilometer.server.sensorthings import expressions as ex
from nilometer.server.sensorthings.kinds import KINDS, Kind, Link
from nilometer.server.sensorthings.looking import IDS, check

PAGE, LARGEST_PAGE = 100, 10_000
"""How many entities are on a page unless $top says so, and at most."""
DEEPEST = 6
"""How deeply $expand may be nested."""
TEXT = 64 << 10
"""The longest query in characters."""
NAMES = (
    "$filter",
    "$orderby",
    "$top",
    "$skip",
    "$count",
    "$select",
    "$expand",
    "$resultFormat",
    "$skiptoken",
)

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Options:
    """The options of a request; `raw` as they were written, for the links to further pages."""

    filter: ex.Expression | None = None
    order: tuple[tuple[ex.Expression, bool], ...] = ()
    top: int | None = None
    skip: int = 0
    count: bool = False
    select: tuple[str, ...] | None = None
    expand: tuple[Expand, ...] = ()
    data_array: bool = False
    token: str | None = None
    raw: Pairs = ()

    @property
    def page(self) -> int:
        """How many entities are on a page."""
        return PAGE if self.top is None else min(self.top, LARGEST_PAGE)

    def next(self, **changed: str) -> str:
        """The query of another page."""
        left = {name: value for name, value in self.raw if name not in ("$skip", "$skiptoken")}
        if self.top is not None and self.top > LARGEST_PAGE:
            left["$top"] = str(LARGEST_PAGE)
        left |= {f"${name}": value for name, value in changed.items()}
        return "&".join(f"{quote(name, safe='$')}={quote(value, safe='')}" for name, value in left.items())


@dataclass(frozen=True)
class Expand:
    """A link to be expanded."""

    link: Link
    options: Options


NOTHING = Options()


def pairs_of(query: str) -> list[tuple[str, str]]:
    """The names and values of a query string."""
    if len(query) > TEXT:
        raise ConfigurationError(f"a query has at most {TEXT >> 10} KiB")
    found = []
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name:
            found.append((unquote_plus(name), unquote_plus(value)))
    return found


def parse(pairs: Iterable[tuple[str, str]], kind: Kind, depth: int = 0) -> Options:
    """The options of a request for entities of a kind."""
    found = NOTHING
    seen: set[str] = set()
    kept = tuple((name, value) for name, value in pairs if name.startswith("$"))
    for name, value in kept:
        if name not in NAMES:
            raise ConfigurationError(
                f"there is no query option '{name[:40]}'", hint=f"there are {', '.join(NAMES)}"
            )
        if name in seen:
            raise ConfigurationError(f"{name} is given twice")
        seen.add(name)
        found = _with(found, name, value, kind, depth)
    return replace(found, raw=kept)


def _with(found: Options, name: str, value: str, kind: Kind, depth: int) -> Options:
    match name:
        case "$filter":
            expression = ex.parse(value)
            check(expression, kind, value)
            return replace(found, filter=expression)
        case "$orderby":
            order = ex.parse_order(value)
            for key, _ in order:
                check(key, kind, value)
            return replace(found, order=order)
        case "$top":
            return replace(found, top=_number(name, value))
        case "$skip":
            return replace(found, skip=_number(name, value))
        case "$count":
            if value.lower() not in ("true", "false"):
                raise ConfigurationError("$count is true or false")
            return replace(found, count=value.lower() == "true")
        case "$select":
            return replace(found, select=_select(value, kind))
        case "$expand":
            return replace(found, expand=parse_expand(value, kind, depth + 1))
        case "$skiptoken":
            return replace(found, token=value)
    if value.lower() not in ("dataarray", "default"):
        raise ConfigurationError(
            f"there is no $resultFormat '{value[:40]}'", hint="dataArray is for Observations"
        )
    if value.lower() == "dataarray" and kind.singular != "Observation":
        raise ConfigurationError("dataArray is a form of Observations")
    return replace(found, data_array=value.lower() == "dataarray")


def _number(name: str, value: str) -> int:
    if not value.isdecimal() or len(value) > 12:
        raise ConfigurationError(
            f"{name} is a whole number that is not negative", detail=f"found {value[:40]!r}"
        )
    return int(value)


def _select(value: str, kind: Kind) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    for name in names:
        plain = name.split("/")[0]
        if plain not in (*kind.properties, *IDS, "@iot.selfLink") and kind.link(name) is None:
            known = ", ".join((*kind.properties, "id", *(link.name for link in kind.links)))
            raise BindError(f"{kind.singular} has no '{name[:40]}'", hint=f"it has {known}")
    return names


def parse_expand(text: str, kind: Kind, depth: int = 1) -> tuple[Expand, ...]:
    """The links to expand: `A/B` and `A($expand=B)` are the same."""
    if depth > DEEPEST:
        raise ConfigurationError(f"$expand is nested at most {DEEPEST} deep")
    found: dict[str, Expand] = {}
    for item in _divided(text, ","):
        head, _, inside = item.strip().partition("(")
        if inside and not inside.endswith(")"):
            raise QuerySyntaxError("')' is expected at the end", detail=item.strip()[:80])
        name, _, further = head.strip().partition("/")
        link = kind.link(name)
        if link is None:
            known = ", ".join(link.name for link in kind.links)
            raise BindError(f"{kind.singular} has no link '{name[:40]}'", hint=f"it has {known}")
        to = KINDS[link.to]
        if further:
            rest = further + (f"({inside}" if inside else "")
            options = Options(expand=parse_expand(rest, to, depth + 1), raw=(("$expand", rest),))
        else:
            given = [_pair(part) for part in _divided(inside[:-1], ";")] if inside else []
            options = parse(given, to, depth)
        before = found.get(name)
        if before is not None:
            options = _merged(before.options, options)
        found[name] = Expand(link, options)
    return tuple(found.values())


def _merged(one: Options, two: Options) -> Options:
    """The options of a link that is named twice: Datastreams($top=1),Datastreams/Sensor."""
    main, other = (one, two) if set(dict(one.raw)) - {"$expand"} else (two, one)
    expand = {each.link.name: each for each in (*other.expand, *main.expand)}
    texts = [value for options in (one, two) for name, value in options.raw if name == "$expand"]
    raw = [pair for pair in main.raw if pair[0] != "$expand"]
    return replace(main, expand=tuple(expand.values()), raw=(*raw, ("$expand", ",".join(texts))))


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = part.strip().partition("=")
    if not equals or not name.startswith("$"):
        raise QuerySyntaxError(
            "inside $expand stand options", detail=part.strip()[:80], hint="write $top=1;$count=true"
        )
    return name, value


def _divided(text: str, sign: str) -> Iterator[str]:
    """The parts of a text between signs that stand outside parentheses and quotes."""
    depth, quoted, begin = 0, False, 0
    for place, letter in enumerate(text):
        if letter == "'":
            quoted = not quoted
        elif not quoted and letter in "()":
            depth += 1 if letter == "(" else -1
        elif letter == sign and not quoted and depth == 0:
            yield text[begin:place]
            begin = place + 1
    if text[begin:].strip() or begin:
        yield text[begin:]
