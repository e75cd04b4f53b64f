"""The entities of clients: durable, whole or not at all, and never two with one id."""

from __future__ import annotations

from pathlib import Path

import pytest

from nilometer.errors import DataError
from nilometer.server.sensorthings.store import FILE, EntityStore, Stored
from server.sensorthings.conftest import Things
from server.sensorthings.entities import observation, thing
from server.serving import Caller
from server.test_killed import LOST, Nursery


def put(store: EntityStore, name: str) -> int:
    change = store.begin()
    number = change.number()
    change.put["Things", number] = Stored({"name": name}, {"Locations": [9]})
    store.commit(change)
    return number


def test_it_reads_what_it_wrote(tmp_path: Path) -> None:
    store = EntityStore(tmp_path)
    first, second = put(store, "a"), put(store, "é")
    change = store.begin()
    change.delete["Things", first] = None
    store.commit(change)
    again = EntityStore(tmp_path)
    assert again.numbers("Things") == [second]
    assert again.get("Things", second) == Stored({"name": "é"}, {"Locations": [9]})
    assert again.linking("Things", "Locations", 9) == [second]
    assert put(again, "b") == second + 1


def test_a_torn_line_never_was(tmp_path: Path) -> None:
    store = EntityStore(tmp_path)
    put(store, "a")
    path = tmp_path / ".nilometer" / FILE
    whole = path.read_bytes()
    put(store, "b")
    longer = path.read_bytes()
    for cut in range(len(whole), len(longer)):
        path.write_bytes(longer[:cut])
        again = EntityStore(tmp_path)
        assert again.numbers("Things") == [1]
        assert put(again, "c") == 2
        assert EntityStore(tmp_path).numbers("Things") == [1, 2]


def test_a_damaged_line_is_an_error(tmp_path: Path) -> None:
    store = EntityStore(tmp_path)
    put(store, "a")
    put(store, "b")
    path = tmp_path / ".nilometer" / FILE
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(DataError, match="sensorthings is damaged"):
        EntityStore(tmp_path)


def test_old_lines_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EntityStore(tmp_path)
    for _ in range(50):
        change = store.begin()
        change.put["Things", "air:a1"] = Stored({"name": "x" * 100})
        store.commit(change)
    before = (tmp_path / ".nilometer" / FILE).stat().st_size
    monkeypatch.setattr("nilometer.server.sensorthings.store.SPARE", 0)
    again = EntityStore(tmp_path)
    assert (tmp_path / ".nilometer" / FILE).stat().st_size < before / 10
    assert put(again, "after") == 1
    assert EntityStore(tmp_path).get("Things", "air:a1") == Stored({"name": "x" * 100})


@pytest.mark.slow
def test_a_killed_server_has_all_that_it_acknowledged(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("")
    nursery = Nursery(tmp_path)
    try:
        made: list[int] = []
        seen: list[int] = []
        for life in range(1):
            nursery.begin()
            caller = Caller(nursery.port)
            things = Things(caller)
            assert [each for each in made if things("GET", f"Things({each})").status != 200] == []
            assert [each for each in seen if things("GET", f"Observations({each})").status != 200] == []
            killing = False
            try:
                for number in range(4):
                    reply = things("POST", "Things", thing(f"{life} {number}"))
                    made.append(reply.json["@iot.id"])
                    (stream,) = things.ids(f"Things({made[-1]})/Datastreams")
                    seen.append(
                        things("POST", f"Datastreams({stream})/Observations", observation(number, 1)).json[
                            "@iot.id"
                        ]
                    )
                    if number == life:
                        killing = True
                        nursery.kill()
            except LOST:
                assert killing
            caller.close()
        nursery.begin()
        things = Things(Caller(nursery.port))
        assert things.ids("Things") == made
        whole = things.get("Things", expand="Datastreams/Observations,Locations")
        assert all(each["Locations"] and each["Datastreams"][0]["Observations"] for each in whole["value"])  # type: ignore[index]
        assert len(set(seen)) == len(seen)
        things.caller.close()
        nursery.kill()
    finally:
        nursery.close()
