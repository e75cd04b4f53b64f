"""Streams that peers make for a question are shown nowhere."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

from nilometer.catalog.peer_streams import is_inner
from nilometer.live.peers.peering import PeerOptions
from server.serving import PATIENCE, Caller, served


def test_the_streams_of_a_question_are_not_shown(tmp_path: Path) -> None:
    key = tmp_path / "ring.key"
    key.write_text("a key that both gateways share")
    key.chmod(0o600)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    roof, yard = (f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
    for one in sockets:
        one.close()
    with (
        served(
            tmp_path / "roof",
            "CREATE STREAM roof (x FLOAT) PUSHED;",
            peer=PeerOptions(roof, None, key, "roof"),
        ),
        served(
            tmp_path / "yard",
            "CREATE STREAM yard (x FLOAT) PUSHED;",
            peer=PeerOptions(yard, roof, key, "yard"),
        ) as server,
    ):
        owner = server.desk.owner
        station = owner.station
        end = time.monotonic() + PATIENCE
        while station.database.catalog.extent("roof") is None:
            assert time.monotonic() < end, "the other's stream is unknown"
            owner.submit(lambda: None)
        asked = [
            owner.install(text, {})
            for text in (
                "SELECT id, x FROM roof WHERE x > 10",
                "SELECT R.x AS r, Y.x AS y FROM roof R, yard Y WINDOW = 5 SECONDS WHERE R.id = Y.id",
                "SELECT * FROM yard",
            )
        ]
        inner = owner.submit(
            lambda: [one.name for one in station.database.catalog.streams() if is_inner(one)]
        )
        assert sorted(name.split("_")[0] for name in inner) == ["overlay", "selected"]
        assert set(inner) < set(owner.submit(lambda: station.manager.streams))
        caller = Caller(server.port)
        metrics = caller("GET", "/metrics").body.decode()
        assert 'stream="yard"' in metrics
        shown = [metrics, json.dumps(owner.submit(owner.top))]
        shown += [
            caller("GET", path).body.decode()
            for path in ("/api/v1/streams", "/api/v1/sensors", "/api/v1/dead-letters", "/api/v1/demand")
        ]
        assert "yard" in shown[2]
        for text in shown:
            assert not [name for name in inner if name in text]
        caller.close()
        for one in asked:
            owner.remove(one)
