"""An event that also sets a shared event, so that one thread can wait for many sources."""

from __future__ import annotations

import threading


class Wake(threading.Event):
    """An event that also sets `bell`, which is shared by all sources that a thread waits for."""

    bell: threading.Event | None = None

    def set(self) -> None:
        """Wake the thread that waits for this source, or for any source."""
        super().set()
        if self.bell is not None:
            self.bell.set()
