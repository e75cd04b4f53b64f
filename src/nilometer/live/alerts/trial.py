"""Sends a test message to an alert's address, to see whether it arrives."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from nilometer.catalog import QueryDefinition
from nilometer.live.alerts.book import Delivery, key_of
from nilometer.live.alerts.messages import document_of
from nilometer.live.alerts.settings import settings_of
from nilometer.live.alerts.transports import send
from nilometer.live.identity import identity_of


def send_test(directory: Path, definition: QueryDefinition) -> str:
    """Send it, or raise why it cannot be sent. Returns its id."""
    assert definition.made_by is not None, "a query that is no alert"
    settings = settings_of(definition.made_by, definition.columns)
    now = time.time_ns() // 1_000
    row = {column.name: "test" for column in definition.columns}
    name = f"test-{secrets.token_hex(6)}"
    key = key_of(tuple("test" for _ in settings.groups))
    document = document_of(
        settings, Delivery(name, name, "test", key, now, now, 0, row), identity_of(directory)
    )
    send(settings, document, directory)
    return name
