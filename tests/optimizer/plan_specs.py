"""Plan specs: text files of declarations and cases, each a plan before and after.

CREATE STREAM river (depth INT) SENSED EVERY 1 MINUTE;

=== a title, after `profile NAME: ` where it is not the default one
PLAN BEFORE
----
PLAN AFTER, or (unchanged)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from nilometer.catalog import Catalog, Sensor, Stream, Table, stream_columns
from nilometer.language import ast, parse_script
from nilometer.types import STRING, UNITS, Column, Kind, Type

UNCHANGED = "(unchanged)"


@dataclass(frozen=True)
class Case:
    """One case; `profile` is 'default' where the title names none."""

    title: str
    before: str
    after: str

    @property
    def profile(self) -> str:
        """As in `profile snee-2010: what is shown`."""
        if not self.title.startswith("profile "):
            return "default"
        return self.title.removeprefix("profile ").partition(":")[0]


@dataclass(frozen=True)
class Spec:
    """A file of cases over one catalog."""

    path: Path
    header: str
    cases: tuple[Case, ...]

    @property
    def catalog(self) -> Catalog:
        return catalog_of(self.header)

    def rewritten(self, afters: list[str]) -> str:
        """The text of the file with other results."""
        parts = [self.header.strip() + "\n"]
        for case, after in zip(self.cases, afters, strict=True):
            parts.append(f"=== {case.title}\n{case.before}\n----\n{after}\n")
        return "\n".join(parts)


def read_spec(path: Path) -> Spec:
    """A spec file."""
    header, *blocks = ("\n" + path.read_text()).split("\n=== ")
    cases = []
    for block in blocks:
        title, _, body = block.partition("\n")
        before, _, after = body.partition("\n----")
        cases.append(Case(title.strip(), before.strip("\n"), after.strip("\n")))
    return Spec(path, header.strip(), tuple(cases))


def catalog_of(declarations: str) -> Catalog:
    """A catalog from CREATE STREAM, TABLE and SENSOR."""
    catalog = Catalog()
    for statement in parse_script(declarations):
        match statement:
            case ast.CreateStream(name, columns, every, _, delay, _, expect):
                declared = tuple(map(_column, columns))
                id_type = STRING if name.endswith("_by_name") else Type(Kind.INT)
                stream = Stream(name, stream_columns(declared, id_type), every=_microseconds(every))
                catalog.add_stream(
                    replace(stream, delay=_microseconds(delay) or 0, expect=_microseconds(expect))
                )
            case ast.CreateTable(name, columns, url):
                catalog.add_table(Table(name, tuple(map(_column, columns)), url))
            case ast.CreateSensor(identifier, stream_name, location, attributes):
                catalog.add_sensor(Sensor(identifier, stream_name, location, attributes))
            case _:
                raise AssertionError(statement)
    return catalog


def _column(column: ast.ColumnDefinition) -> Column:
    return Column(column.name, Type(Kind(column.type), column.width), column.unit)


def _microseconds(amount: ast.Amount | None) -> int | None:
    if amount is None:
        return None
    assert amount.unit is not None
    return int(amount.count) * UNITS[amount.unit]
