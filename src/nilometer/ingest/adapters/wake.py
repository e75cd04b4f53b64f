"""An event that is set with many others: one waiter for all sources."""

from __future__ import annotations

import threading


class Wake(threading.Event):
    """An event that also sets `bell`, if somebody waits for several sources at once."""

    bell: threading.Event | None = None

    def set(self) -> None:
        """Wake whoever waits for this source, or for any."""
        super().set()
        if self.bell is not None:
            self.bell.set()
