"""CREATE ALERT: what is refused, what is listed, what is dropped."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.errors import CatalogError, ConfigurationError, NilometerError

AIR = "CREATE STREAM air (id STRING, pm25 FLOAT) PUSHED"
WHEN = "CREATE ALERT smoky WHEN (SELECT time, id, pm25 FROM air WHERE pm25 > 35) THEN 'https://h/hook'"


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (WHEN.replace("https:", "ftp:"), "cannot be sent there"),
        (WHEN.replace("https://h/hook", "mailto:nobody"), "incomplete"),
        (WHEN + " GROUP BY ids", "without a column 'ids' to group by"),
        (WHEN.replace("time, ", ""), "without a time"),
        (WHEN + " SILENCE FROM '22' TO '6'", "two times of day"),
        (WHEN + " SILENCE FROM '2026-02-01T00:00Z' TO '2026-01-01T00:00Z'", "ends before it begins"),
        (WHEN + " TEMPLATE '{{pm2}} is high'", "the template names 'pm2'"),
        (WHEN + " DEBOUNCE 5 MINUTES DEBOUNCE 6 MINUTES", "DEBOUNCE stands twice"),
        (WHEN + " RETRIES many", "how often a delivery is tried again"),
    ],
)
def test_refused(statement: str, told: str) -> None:
    database = nilometer.connect()
    database.execute(AIR)
    with pytest.raises(NilometerError, match=told):
        database.execute(statement)
    assert database.execute("SHOW ALERTS") == [[]]


def test_declared_listed_replaced_and_dropped() -> None:
    database = nilometer.connect()
    database.execute(AIR)
    database.execute(WHEN.replace("h/hook", "me:secret@h/hook?token=abc") + " GROUP BY id")
    (listed,) = database.execute("SHOW ALERTS")[0]
    assert (listed["name"], listed["state"]) == ("smoky", "quiet")
    assert "secret" not in str(listed)
    assert "abc" not in str(listed)
    with pytest.raises(CatalogError, match="belongs to the alert"):
        database.execute("DROP QUERY smoky")
    with pytest.raises(CatalogError, match="no decision 'smoky'"):
        database.execute("DROP DECISION smoky")
    database.execute(WHEN.replace("CREATE", "REPLACE") + " RETRIES 1")
    assert len(database.execute("SHOW ALERTS")[0]) == 1
    database.execute("DROP ALERT smoky")
    assert database.execute("SHOW ALERTS; SHOW QUERIES") == [[], []]
    with pytest.raises(ConfigurationError, match="cannot be sent"):
        database.execute(WHEN.replace("https://h/hook", "nowhere"))
