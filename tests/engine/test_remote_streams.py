"""Standing queries over streams of other gateways are declared again when their directory is opened."""

from __future__ import annotations

import json
from pathlib import Path

import nilometer
from nilometer.catalog.peer_streams import home_of

ROOF = "CREATE STREAM roof (x FLOAT) PUSHED;"


def test_a_script_may_query_streams_that_were_heard_of(tmp_path: Path) -> None:
    folder = tmp_path / ".nilometer"
    folder.mkdir()
    others = [[ROOF, "127.0.0.1:1"], ["CREATE STREAM yard (y INT) PUSHED;", "127.0.0.1:2"]]
    (folder / "peers.json").write_text(json.dumps({"streams": others, "starts": {}}))
    (tmp_path / "schema.sql").write_text(
        "CREATE STREAM yard (x FLOAT) PUSHED;\n"
        "CREATE QUERY pairs AS SELECT R.x FROM roof R, yard Y WINDOW = 1 SECOND WHERE R.x = Y.x;\n"
    )
    database = nilometer.connect(tmp_path)
    assert [query.name for query in database.catalog.queries()] == ["pairs"]
    assert not database.notes
    # Our own stream comes first.
    assert {one.name: home_of(one) for one in database.catalog.streams()} == {
        "roof": "127.0.0.1:1",
        "yard": None,
    }
