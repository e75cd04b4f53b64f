"""One owner a directory: its clients share streams and demand, and none can tell which others there are."""

from __future__ import annotations

import errno
import os
import socket
import struct
from pathlib import Path

import pytest

from live.owner.owners import client_of, fetch, field, owned, write
from nilometer.engine import connect
from nilometer.errors import BindError, CatalogError, ConfigurationError
from nilometer.live.owner import owner as owner_module
from nilometer.live.owner.client import Asking, find_owner
from nilometer.live.owner.lock import OwnerLock, holder_of, is_owned
from nilometer.live.owner.owner import OwnerGoneError
from nilometer.live.owner.wire import FILE, WireError, receive, socket_path
from nilometer.log.writer import BusyError

ALL = "SELECT time, id, x FROM air"


def test_two_owners_are_impossible_and_the_lock_says_who(tmp_path: Path) -> None:
    database = field(tmp_path)
    assert holder_of(tmp_path) is None
    with (
        owned(database),
        pytest.raises(BusyError, match=rf"owned by process {os.getpid()} of \S+, `.+`, since 20"),
    ):
        OwnerLock(tmp_path)
    assert not is_owned(tmp_path)
    assert find_owner(tmp_path) is None
    OwnerLock(tmp_path).release()


def test_clients_get_what_they_would_get_alone(tmp_path: Path) -> None:
    database = field(tmp_path)
    with owned(database), client_of(database) as narrow, client_of(database) as wide:
        few, every = Asking("SELECT id, x FROM air WHERE x > 7"), Asking(ALL)
        few.install(narrow)
        every.install(wide)
        write(tmp_path, 0, 60)
        assert len(fetch(wide, every, 120)) == 120
        alone = [
            (row["id"], row["x"]) for row in connect(tmp_path).sql("SELECT id, x FROM air WHERE x > 7").run()
        ]
        assert fetch(narrow, few, len(alone)) == alone


def test_a_client_that_goes_leaves_nothing(tmp_path: Path) -> None:
    database = field(tmp_path)
    with owned(database) as owner:
        client = client_of(database)
        asking = Asking(ALL)
        asking.install(client)
        assert owner.submit(lambda: list(owner.station.queries)) == ["query-1"]
        client._socket.shutdown(socket.SHUT_RDWR)  # as the kernel does for a process that was killed
        with client_of(database) as other:
            while owner.submit(lambda: list(owner.station.queries)):
                other.request("hello")
        client.close()
        assert not owner.asked
        assert not owner.station.manager.streams


def test_errors_reach_the_client_and_hurt_nobody(tmp_path: Path) -> None:
    database = field(tmp_path)
    with owned(database), client_of(database) as client:
        with pytest.raises(BindError, match="no column or parameter 'y'") as refused:
            Asking("SELECT y FROM air").install(client)
        assert refused.value.line == 1
        with pytest.raises(ConfigurationError, match="no request 'dance'"):
            client.request("dance")
        with pytest.raises(ConfigurationError, match="makes no sense"):
            client.request("fetch", name="query-9")
        write(tmp_path, 0, 1)
        asking = Asking(ALL, start="beginning")
        asking.install(client)
        assert len(fetch(client, asking, 2)) == 2


def test_strangers_on_the_socket_are_refused(tmp_path: Path) -> None:
    database = field(tmp_path)
    with owned(database):
        for sent in (b"GET / HTTP/1.1\r\n\r\n", struct.pack("!4sHII", b"NILO", 99, 2, 0), b"NILO"):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(tmp_path / FILE))
                stranger.sendall(sent)
                stranger.shutdown(socket.SHUT_WR)
                reply = receive(stranger)
                assert reply is None or reply.header["error"] == "WireError"
        with socket.socket(socket.AF_UNIX) as greedy:
            greedy.connect(str(tmp_path / FILE))
            greedy.sendall(struct.pack("!4sHII", b"NILO", 1, 1 << 31, 0))
            reply = receive(greedy)
            assert reply is not None
            assert "too long" in reply.header["message"]
        with client_of(database) as client:
            assert client.request("hello").header["owner"]


def test_frames_that_are_none_are_an_error() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\0" * 14)
        with pytest.raises(WireError):
            receive(ours)


def test_a_long_path_has_a_socket_too(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 20) / ("deeper" * 10)
    database = field(folder)
    with owned(database), socket_path(folder) as path, client_of(database) as client:
        assert path.startswith("/proc/self/fd/")
        asking = Asking(ALL)
        asking.install(client)
        write(folder, 0, 2)
        assert len(fetch(client, asking, 4)) == 4


def test_a_slow_client_falls_back_to_the_log_and_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_module, "CLIENT_ROWS", 8)
    database = field(tmp_path)
    text = "SELECT id, COUNT(*) AS n, AVG(x) AS mean FROM air [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY id"
    with owned(database) as owner, client_of(database) as slow, client_of(database) as quick:
        late, early = Asking(text), Asking(text)
        late.install(slow)
        early.install(quick)
        found = []
        for first in range(0, 60, 6):
            write(tmp_path, first, 6)
            found += fetch(quick, early, 12 if first else 10)
        assert len(found) == 118  # the last minute is not complete yet
        waiting = owner.submit(lambda: sum(frame.height for frame in owner.asked[late.name].live._waiting))
        assert waiting < 60
        assert fetch(slow, late, len(found)) == found
        assert late.dropped == early.dropped == 0


def test_a_query_outlives_its_owner(tmp_path: Path) -> None:
    """It begins again where it began, and skips what came: nothing is missing, nothing comes twice."""
    database = field(tmp_path)
    text = "SELECT id, SUM(x) AS total FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id"
    write(tmp_path, 0, 10)
    asking = Asking(text, start="beginning")
    with owned(database) as first:
        client = client_of(database)
        asking.install(client)
        before = fetch(client, asking, 6)
        first.submit(lambda: None)
    with pytest.raises(OwnerGoneError):
        asking.fetch(client)
    client.close()
    with owned(connect(tmp_path)), client_of(database) as again:
        asking.install(again)
        write(tmp_path, 10, 10)
        # Of two sensors, every two minutes. To wait for rows that do not come takes half a minute.
        after = fetch(again, asking, 20 - len(before))
    whole = [row[1:] for row in database.sql(text).run("reference", finished=False).rows]
    got = [row[1:] for row in before + after]
    assert got == whole[: len(got)]
    assert len(got) == 20


def test_an_embedded_owner_gives_way_to_one_that_stays(tmp_path: Path) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 3)
    rows = connect(tmp_path).sql(ALL).live(start="beginning")
    assert [next(rows)["id"] for _ in range(6)] == [1, 2] * 3  # this iterator is an owner by now
    holder = holder_of(tmp_path)
    assert holder is not None
    assert holder.embedded
    with pytest.raises(BusyError):
        OwnerLock(tmp_path)
    rows.close()
    with owned(database):
        live = connect(tmp_path).sql(ALL).live(start="beginning")
        assert [next(live)["id"] for _ in range(6)] == [1, 2] * 3  # this one is a client
        live.close()


def test_each_embedded_owner_that_comes_in_between_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [OwnerLock(tmp_path, embedded=True)]
    asked: list[int] = []

    def give_way(directory: Path) -> None:
        held.pop().release()
        asked.append(len(asked))
        if len(asked) < 3:  # another command was quicker
            held.append(OwnerLock(directory, embedded=True))

    monkeypatch.setattr(owner_module, "_ask_to_give_way", give_way)
    monkeypatch.setattr(owner_module, "GIVING_WAY", 0.1)
    owner_module.take_lock(tmp_path, embedded=False).release()
    assert len(asked) == 3


def test_an_embedded_owner_answers_others_while_its_rows_wait(tmp_path: Path) -> None:
    database = field(tmp_path)
    write(tmp_path, 0, 3)
    rows = database.sql(ALL).live(start="beginning")
    assert next(rows)["id"] == 1  # this process is the owner, and fetches nothing now
    assert next(iter(connect(tmp_path).sql(ALL).live(start="beginning")))["id"] == 1
    database.execute("CREATE QUERY late AS SELECT time, x FROM air")
    with pytest.raises(CatalogError, match="already"):
        connect(tmp_path).execute("CREATE QUERY late AS SELECT time, x FROM air")
    assert [next(rows)["id"] for _ in range(5)] == [2, 1, 2, 1, 2]
    rows.close()


@pytest.mark.promise("socket-descriptors")
def test_deep_frames_and_a_want_of_descriptors_end_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = field(tmp_path)
    accept, refusals = socket.socket.accept, [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED]

    def refusing(self: socket.socket) -> tuple[socket.socket, object]:
        if self.family == socket.AF_UNIX and refusals:
            raise OSError(refusals.pop(), "nobody can come in now")
        return accept(self)

    with owned(database), monkeypatch.context() as patch:
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
        patch.setattr(socket.socket, "accept", refusing)
        for _ in range(2):  # the first one is let in by a call that was under way
            with socket.socket(socket.AF_UNIX) as deep, socket_path(tmp_path) as path:
                deep.settimeout(20)
                deep.connect(path)
                deep.sendall(struct.pack("!4sHII", b"NILO", 1, 200_000, 0) + b"[" * 200_000)
                reply = receive(deep)
                assert reply is not None
                assert reply.header["error"] == "WireError"
        assert not refusals
