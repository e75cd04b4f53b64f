"""What the running database needs from the owner of its declarations: the catalog, the data at hand, and compiled queries.

`nilometer.engine` satisfies these protocols. The running database asks for no more, and so does not depend on the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nilometer.catalog import Catalog, Table
from nilometer.plan import physical
from nilometer.types import Schema

if TYPE_CHECKING:
    import polars as pl

    from nilometer.dataflow.sources import Extents


class CompiledQuery(Protocol):
    """One continuous question with its physical plan."""

    @property
    def text(self) -> str:
        """The question as it was asked."""

    @property
    def physical(self) -> physical.Node:
        """The plan that a host runs."""

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""

    @property
    def extents(self) -> Extents:
        """The tables and the sensors that the plan asks for."""


class DataAtHand(Protocol):
    """Files and tables beside the streams."""

    @property
    def base(self) -> Path | None:
        """The data directory, if there is one."""

    @property
    def files(self) -> Mapping[str, Path]:
        """The file of each stream that has one, by the stream's lower-case name."""

    def table(self, table: Table, catalog: Catalog) -> pl.DataFrame:
        """The snapshot of a stored extent."""


class Declarations(Protocol):
    """Streams, tables, sensors and queries as they are declared."""

    @property
    def catalog(self) -> Catalog:
        """What is declared."""

    @property
    def data(self) -> DataAtHand:
        """What is at hand."""

    def sql(self, text: str) -> CompiledQuery:
        """Compile a question."""
