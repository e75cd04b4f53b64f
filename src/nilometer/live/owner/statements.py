"""The declarations of a database as statements: what each declares, what it reads, and how two sets of them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from nilometer.language import ast, parse, parse_script, print_statement
from nilometer.language.walk import walk

if TYPE_CHECKING:
    from nilometer.catalog import Catalog

Key = tuple[str, str]
"""The kind and the lower-case name of a declared thing."""


@dataclass(frozen=True)
class Difference:
    """One step from the present declarations to the wanted ones. `what` is CREATE, REPLACE or DROP."""

    what: str
    kind: str
    name: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.kind} {self.name}"


def named(statement: ast.Statement) -> tuple[str, str] | None:
    """The kind and the name of the declared thing; None for a statement that declares nothing."""
    match statement:
        case ast.CreateStream(name=name):
            return "STREAM", name
        case ast.CreateTable(name=name):
            return "TABLE", name
        case ast.CreateSensor(identifier=identifier, stream=stream):
            return "SENSOR", f"{identifier} OF {stream}"
        case ast.CopySensors(path=path, stream=stream):
            return "SENSORS", f"{path} OF {stream}"
        case ast.CopyStreams(path=path):
            return "STREAMS", path
        case ast.CreateNetwork(name=name):
            return "NETWORK", name
        case ast.CreateQuery(name=name):
            return "QUERY", name
        case ast.CreateView(name=name):
            return "VIEW", name
        case ast.CreateModel(name=name):
            return "MODEL", name
        case ast.CreateFunction(name=name):
            return "FUNCTION", name
        case ast.CreatePhenomenon(name=name):
            return "PHENOMENON", name
        case ast.CreateAlert(name=name) | ast.CreateDecision(name=name):
            return "QUERY", name  # each is a standing query of that name
    return None


@lru_cache(maxsize=1)
def statements_of(script: str) -> Mapping[Key, tuple[str, str]]:
    """The name and the canonical text of each declaration in a script, by its key, in order. The last script is
    remembered: an owner's start asks for schema.sql four times, which may declare 20,000 sensors."""
    found: dict[Key, tuple[str, str]] = {}
    for statement in parse_script(script):
        key = named(statement) if isinstance(statement, ast.Statement) else None
        if key is not None:
            found[key[0], key[1].lower()] = key[1], print_statement(statement)
    return MappingProxyType(found)


def differences(present: Mapping[Key, str], wanted: Mapping[Key, tuple[str, str]]) -> list[Difference]:
    """The steps from one set of declarations to another: first what goes, those that read others before these, then
    what changes, then what comes."""
    gone = [
        Difference("DROP", kind, name) for kind, name in reversed(list(present)) if (kind, name) not in wanted
    ]
    steps = []
    for key, (name, text) in wanted.items():
        if key not in present:
            steps.append(Difference("CREATE", key[0], name, text))
        elif present[key] != text:
            steps.append(Difference("REPLACE", key[0], name, text))
    order = (
        *("QUERY", "VIEW", "PHENOMENON", "MODEL", "FUNCTION", "SENSOR", "SENSORS", "NETWORK"),
        *("TABLE", "STREAM", "STREAMS"),
    )
    return sorted(gone, key=lambda step: order.index(step.kind)) + steps


def reads(text: str) -> set[str]:
    """The lower-case names that a query reads in FROM, or a phenomenon is defined on."""
    found = set()
    for node in walk(parse(text)):
        match node:
            case ast.ExtentSource(name=name) | ast.PhenomenonSource(extent=name):
                found.add(name.lower())
            case ast.Setting(word="NEIGHBOURS BY", values=(ast.Name(parts=(name,)),)):
                found.add(name.lower())
    return found


def calls(text: str) -> set[str]:
    """The lower-case names of the functions that a query calls."""
    return {node.name.lower() for node in walk(parse(text)) if isinstance(node, ast.FunctionCall)}


def callers(catalog: Catalog, name: str) -> list[str]:
    """The queries, views and phenomena that call a function."""
    return _using(catalog, name, calls)


def readers(catalog: Catalog, name: str, besides: Iterable[str] = ()) -> list[str]:
    """The queries, views and phenomena that read a stream, table, view, phenomenon or query."""
    return [reader for reader in _using(catalog, name, reads) if reader not in besides]


def _using(catalog: Catalog, name: str, names_of: Callable[[str], set[str]]) -> list[str]:
    texts = [(query.name, query.text) for query in catalog.queries()]
    texts += [(view.name, view.text) for view in catalog.views()]
    texts += [(phenomenon.name, phenomenon.text) for phenomenon in catalog.phenomena()]
    return [reader for reader, text in texts if name.lower() in names_of(text)]
