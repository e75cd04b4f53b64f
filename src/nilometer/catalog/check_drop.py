"""Refuses to drop a part of something bigger by itself."""

from __future__ import annotations

from nilometer.catalog.catalog import Catalog
from nilometer.errors import CatalogError


def check_drop(catalog: Catalog, kind: str, name: str) -> None:
    """Refuse to drop the query of an alert or a decision by itself."""
    query = catalog.query(name) if kind == "QUERY" else None
    if query is not None and query.duty is not None:
        raise CatalogError(
            f"query '{query.name}' belongs to the {query.duty.lower()} of that name",
            hint=f"drop that: DROP {query.duty} {query.name}",
        )
