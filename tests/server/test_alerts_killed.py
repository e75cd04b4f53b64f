"""`serve` is killed at random moments while alerts fire: every firing is decided once, and told at least once."""

from __future__ import annotations

import http.client
import random
import threading
from pathlib import Path

from live.alerts.receivers import PATIENCE, hooked
from server.serving import AIR, Caller, minute
from server.test_killed import Nursery

LOST = (OSError, http.client.HTTPException)
LIVES = 4
COUNT = 40


def test_killed_at_random_moments(tmp_path: Path) -> None:
    when = "SELECT time, id, pm25 FROM air WHERE pm25 > 35"
    chance = random.Random(17)
    with hooked() as hook:
        (tmp_path / "schema.sql").write_text(
            f"{AIR}CREATE ALERT smoky WHEN ({when}) THEN 'http://127.0.0.1:{hook.port}/' GROUP BY id "
            "RESOLVE AFTER 2 MINUTES;\n"
        )
        nursery = Nursery(tmp_path)
        nursery.begin()
        done = threading.Event()

        def send() -> None:
            """Every tenth minute a sensor of its own has smoke, and is well the minute after."""
            for count in range(COUNT):
                smoke = count % 10 == 5
                readings = [minute(count, f"s{count}" if smoke else "b", 50.0 if smoke else 1.0)]
                while True:
                    caller = Caller(nursery.port)
                    try:
                        if caller("POST", "/api/v1/streams/air/readings", readings).status == 200:
                            break
                    except LOST:
                        pass
                    finally:
                        caller.close()
            done.set()

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        try:
            for _ in range(LIVES):
                done.wait(chance.uniform(0.05, 0.6))
                nursery.kill()
                nursery.begin()
            assert done.wait(PATIENCE)
            fired = [f"s{count}" for count in range(COUNT) if count % 10 == 5]
            wanted = {(status, name) for name in fired for status in ("firing", "resolved")}
            with hook.came:
                enough = hook.came.wait_for(lambda: len(set(hook.bodies)) >= len(wanted), PATIENCE)
            assert enough, hook.bodies
            heard = hook.wait(len(wanted))
            caller = Caller(nursery.port)
            state = caller.get("/api/v1/alerts/smoky")
            caller.close()
            nursery.kill()
        finally:
            sender.join(PATIENCE)
            nursery.close()
    assert {(one["status"], one["group"]["id"]) for one in heard} == wanted
    # One id for each decision: what came twice is recognized by it.
    assert len({one["id"] for one in heard}) == len(wanted)
    assert state["fired"] == len(fired)
