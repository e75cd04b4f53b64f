"""The interface of live queries to the owner of the declarations: the catalog, files and tables, and compiled
queries.

`nilometer.engine` satisfies these protocols. The running database asks for no more, and so does not depend on
the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nilometer.catalog import Catalog, Table
from nilometer.language import ast
from nilometer.plan import logical, physical
from nilometer.types import Schema

if TYPE_CHECKING:
    import polars as pl

    from nilometer.dataflow.sources import Extents
    from nilometer.ingest.readers import FileSet


class CompiledQuery(Protocol):
    """A continuous query with its physical plan."""

    @property
    def text(self) -> str:
        """The text of the query."""

    @property
    def logical(self) -> logical.Deliver:
        """The bound plan: what the query means."""

    @property
    def physical(self) -> physical.Node:
        """The plan that a host runs."""

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""

    @property
    def extents(self) -> Extents:
        """The tables and the sensors that the plan asks for."""

    def with_profile(self, profile: str) -> CompiledQuery:
        """The same query, optimized by the rules of that profile."""

    def standing(self) -> CompiledQuery:
        """The same query; refuses one that is only answered at the end of its streams."""


class DataAtHand(Protocol):
    """The files and tables beside the streams."""

    @property
    def base(self) -> Path | None:
        """The data directory, if there is one."""

    @property
    def files(self) -> Mapping[str, FileSet]:
        """The files of each stream that has any, by the stream's lower-case name."""

    def table(self, table: Table, catalog: Catalog) -> pl.DataFrame:
        """The snapshot of a stored extent."""


class Declarations(Protocol):
    """The declared streams, tables, sensors and queries."""

    @property
    def catalog(self) -> Catalog:
        """The catalog of all declarations."""

    @property
    def data(self) -> DataAtHand:
        """The files and tables."""

    def declare(self, statement: ast.Statement, text: str) -> None:
        """Change the catalog, and nothing else."""

    def sql(self, text: str, /, **parameters: Any) -> CompiledQuery:
        """Compile a query."""
