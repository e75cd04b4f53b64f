"""One setting for the memory of the process, divided among its parts; what each part does when its share is used up."""

from __future__ import annotations

import gzip
import io
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nilometer
from nilometer import memory
from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.cli import main as cli
from nilometer.errors import ConfigurationError, DataError, ResourceError
from nilometer.ingest.adapters.inbox import BATCHES, ITEM_BYTES, Inbox, Room
from nilometer.ingest.adapters.mqtt import MqttAdapter
from nilometer.ingest.manager import ManagerSettings
from nilometer.ingest.readers.files import contents
from nilometer.ingest.readers.time_order import TimeOrder
from nilometer.memory import DEFAULT, SHARES, Budget, budget, size_of
from nilometer.operators.limits import check_built, check_kept
from nilometer.types import FLOAT, Column

AIR = Stream("air", stream_columns((Column("x", FLOAT),)))
SMALL = "100MB"


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    monkeypatch.setattr(memory, "_said", {})


def test_the_order_of_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert budget().whole == DEFAULT
    (tmp_path / "schema.sql").write_text("CREATE STREAM air (x FLOAT) PUSHED;")
    (tmp_path / "nilometer.toml").write_text('memory = "1GB"\n[spark]\nbuckets = 4\n')
    nilometer.connect(tmp_path)
    assert budget().whole == 10**9
    monkeypatch.setenv(memory.VARIABLE, "2GB")
    assert budget().whole == 2 * 10**9
    nilometer.connect(tmp_path, memory="512MiB")
    assert budget().whole == 2**29
    monkeypatch.setattr(
        sys, "argv", ["nilometer", "query", "--data", str(tmp_path), "--memory", "3GB", "SHOW STREAMS"]
    )
    with pytest.raises(SystemExit):
        cli.main()
    assert budget().whole == 3 * 10**9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('memory = "lots"', "'lots' is no size"),
        ("memory = 2", "memory is 2 in"),
        ('memory = "1MB"', "must be at least 100 MB"),
        ('memroy = "2GB"', "there is no setting 'memroy'"),
    ],
)
def test_wrong_settings_are_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE STREAM air (x FLOAT) PUSHED;")
    (tmp_path / "nilometer.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=says):
        nilometer.connect(tmp_path)


@pytest.mark.promise("one-setting")
def test_the_parts_that_are_used_together_fit_into_the_whole() -> None:
    live = sum(1 / SHARES[name] for name in ("operators", "inbox", "ring", "results", "backlog"))
    files = sum(1 / SHARES[name] for name in ("operators", "sorting"))
    assert max(live, files, 10 / SHARES["files"]) < 1
    assert all(getattr(Budget(), name) == DEFAULT // share for name, share in SHARES.items())
    assert size_of("1.5 GB") == 1_500_000_000


@pytest.mark.promise("one-setting")
def test_the_parts_obey(tmp_path: Path) -> None:
    memory.give(SMALL)
    assert ManagerSettings().buffer_bytes == budget().ring
    assert ManagerSettings().backlog_bytes == budget().backlog
    check_built(1_000_000, 6)
    with pytest.raises(ResourceError, match="would build 2,000,000 rows at once"):
        check_built(2_000_000, 6)
    with pytest.raises(ResourceError, match="would keep 7,000,000 rows"):
        check_kept(7_000_000)
    order = TimeOrder("time")
    for piece in range(3):
        order.add(pl.DataFrame({"time": pl.int_range(1_500_000, 0, -1, eager=True) - piece}))
    assert order._runs, "beyond its share, sorting goes to the disk"
    adapter = MqttAdapter(AIR, Address.parse("mqtt://127.0.0.1/air/{id}"), lambda: 0)
    assert adapter._properties.MaximumPacketSize == budget().inbox
    packed = tmp_path / "air.csv.gz"
    packed.write_bytes(gzip.compress(bytes(30_000_000), 1))
    with pytest.raises(DataError, match=r"'air.csv.gz' holds more than 6.2 MB without its compression"):
        contents(packed)
    packed.write_bytes(gzip.compress(bytes(6_000_000), 1))
    assert len(contents(packed)) == 6_000_000


@pytest.mark.promise("large-messages")
def test_large_messages_wait_at_their_sender() -> None:
    """2,400 messages of a megabyte: the inbox holds its share, whatever the number of messages that it may hold."""
    memory.give(SMALL)
    room = Room()
    inbox: Inbox[bytes] = Inbox(20_000, len, room)
    payload, count, most = bytes(1_000_000), 2_400, 0

    def send() -> None:
        for _ in range(count):
            assert inbox.put(payload)

    sender = threading.Thread(target=send)
    sender.start()
    taken = 0
    while taken < count:
        inbox.wake.wait(10)
        most = max(most, room.used)
        batch = inbox.take()
        assert len(batch) * len(payload) <= max(budget().inbox // BATCHES, len(payload))
        taken += len(batch)
    sender.join()
    assert (taken, room.used) == (count, 0)
    assert most <= budget().inbox + len(payload)
    assert inbox.waits


def test_inboxes_share_their_room_and_none_starves() -> None:
    memory.give(SMALL)
    room = Room()
    full: Inbox[bytes] = Inbox(1_000, len, room)
    other: Inbox[bytes] = Inbox(1_000, len, room)
    while not full._is_full(500_000 + ITEM_BYTES):
        full.put(bytes(500_000))
    assert other.put(bytes(5_000_000)), "an empty inbox takes a message of any size"
    assert other.full
    full.close()
    other.take()
    assert room.used == 0


@given(st.lists(st.integers(0, 3_000_000), max_size=30), st.lists(st.booleans(), max_size=60))
def test_the_room_is_what_the_inbox_holds(sizes: list[int], turns: list[bool]) -> None:
    room = Room()
    inbox: Inbox[int] = Inbox(100, lambda size: size, room)
    left, held, taken = list(sizes), 0, []
    for put in turns:
        if put and left and not inbox._is_full(left[0] + ITEM_BYTES):
            inbox.put(left.pop(0))
        elif not put:
            taken += inbox.take()
        held = len(inbox)
        assert inbox.wake.is_set() == bool(held)
    assert taken == sizes[: len(taken)]
    inbox.close()
    assert room.used == 0


def test_a_refusal_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "air.csv.gz").write_bytes(
        gzip.compress(b"time,id,x\n" + b"2026-01-01T00:00:00Z,1,2\n" * 1_100_000, 1)
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "nilometer",
            "query",
            "--memory",
            SMALL,
            "--data",
            str(tmp_path / "air.csv.gz"),
            "SELECT COUNT(*) FROM air",
        ],
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "--memory 8GB" in capsys.readouterr().err
