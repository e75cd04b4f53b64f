"""A table that somebody has locked is trouble, not a wait without end."""

from __future__ import annotations

import pytest

from nilometer.catalog.address import Address
from nilometer.errors import DataError
from nilometer.ingest.readers.databases import _patient, read_database


def test_the_time_that_a_database_may_take() -> None:
    assert _patient(Address.parse("postgresql+psycopg://me@db/plant")) == (
        "postgresql://me@db/plant?connect_timeout=10&options=-c%20statement_timeout%3D60000"
    )
    given = "postgresql://db/plant?sslmode=require&timeout=250ms&connect_timeout=3"
    assert _patient(Address.parse(given)) == (
        "postgresql://db/plant?sslmode=require&connect_timeout=3&options=-c%20statement_timeout%3D250"
    )


@pytest.mark.promise("locked-tables")
@pytest.mark.postgres
def test_a_locked_table_is_not_waited_for(postgres_url: str) -> None:
    import psycopg

    url = postgres_url.replace("+psycopg", "")
    with psycopg.connect(url) as owner:
        owner.execute("CREATE TABLE IF NOT EXISTS locked (k INT)")
        owner.commit()
        owner.execute("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE")
        joint = "&" if "?" in url else "?"
        with pytest.raises(DataError, match="'locked' cannot be read") as caught:
            read_database(f"{url}{joint}timeout=100ms", "locked")
        assert "statement timeout" in str(caught.value.detail)
        owner.rollback()
        owner.execute("DROP TABLE locked")
