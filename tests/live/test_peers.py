"""Two stations among peers: a stream of the other by name, and a join of both, over sockets on loopback."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import nilometer
from nilometer.catalog import Stream
from nilometer.catalog.peer_streams import is_inner, is_of_peers, remote, shown
from nilometer.engine.peering import open_peering
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import Adapter, Clock, ReadResult, Status
from nilometer.live import upkeep
from nilometer.live.live_query import LiveQuery
from nilometer.live.outside import Outside
from nilometer.live.peers.peering import Peering, PeerOptions
from nilometer.live.station import Station
from nilometer.log import LogDirectory
from nilometer.log.directory import PLACE
from nilometer.overlay.messages import Subscribe
from nilometer.types import MINUTE

KEY = "a key that both gateways share"
PATIENCE = 90.0


class Given(Adapter):
    """A source that gives what a test gives it."""

    def __init__(self, stream: Stream, clock: Clock, given: list[tuple[float, int, float]]) -> None:
        super().__init__(stream, clock)
        self._given = given

    def open(self) -> None:
        pass

    def read(self) -> ReadResult:
        if not self._given:
            return self.nothing()
        rows = [
            {"time": int(moment * 1_000_000), "id": 1, "site": site, "x": x}
            for moment, site, x in self._given
        ]
        self._given.clear()
        frame = pl.DataFrame(rows).select(column.name for column in self.stream.columns)
        return ReadResult(Status.NEW_VALUE, frame, arrived=self.clock())


class Gateway:
    """A station with a pushed stream, and its place in the ring."""

    def __init__(self, folder: Path, name: str, port: int, join: int | None) -> None:
        self.folder = folder / name
        self.port, self.join, self.name = port, join, name
        if not self.folder.exists():
            self.folder.mkdir()
            (self.folder / "schema.sql").write_text(f"CREATE STREAM {name} (site INT, x FLOAT) PUSHED;\n")
        self.database = nilometer.connect(self.folder)
        self.given: list[tuple[float, int, float]] = []
        self.station = Station(self.database, self.folder, outside=Outside(adapter_of=self._adapter))
        via = None if join is None else f"127.0.0.1:{join}"
        options = PeerOptions(f"127.0.0.1:{port}", via, folder / "key", name)
        self.peering: Peering = open_peering(self.station, options, lambda _: None)

    def _adapter(self, stream: Stream, clock: Clock) -> Adapter:
        return (
            self.peering.adapter(stream, clock) if is_of_peers(stream) else Given(stream, clock, self.given)
        )

    def again(self) -> Gateway:
        """The next life of a gateway that was closed."""
        return Gateway(self.folder.parent, self.name, self.port, self.join)

    def turn(self) -> None:
        self.peering.look()
        self.station.step()

    def close(self) -> None:
        self.peering.close()
        self.station.close()


@pytest.fixture
def gateways(tmp_path: Path) -> object:
    (tmp_path / "key").write_text(KEY)
    (tmp_path / "key").chmod(0o600)
    ports = []
    for _ in range(2):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            ports.append(int(found.getsockname()[1]))
    made = [Gateway(tmp_path, "roof", ports[0], None), Gateway(tmp_path, "yard", ports[1], ports[0])]
    yield made
    for one in made:
        one.close()


def until(gateways: list[Gateway], met: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < end, what
        for one in gateways:
            one.turn()
        time.sleep(0.01)


def rows_of(live: LiveQuery) -> list[dict[str, object]]:
    return [row for answer in live.take() for row in answer]


def test_a_stream_of_the_other_and_a_join_of_both(gateways: list[Gateway]) -> None:
    roof, yard = gateways
    until(
        gateways,
        lambda: yard.database.catalog.extent("roof") is not None,
        "the other's stream is not heard of",
    )
    shown = {one["name"]: one["kind"] for one in yard.database.show("STREAMS")}
    assert shown["roof"].startswith("REMOTE 127.0.0.1:")
    whole = yard.station.install(yard.database.sql("SELECT site, x FROM roof"))
    text = (
        "SELECT R.x AS r, Y.x AS y FROM roof R, yard Y WINDOW = 5 SECONDS WHERE R.site = Y.site AND R.x > 0"
    )
    pairs = yard.station.install(yard.database.sql(text))
    assert "peers join" in yard.peering.notes[pairs.name]
    assert "shipped" in yard.peering.notes[whole.name]
    until(gateways, lambda: bool(roof.peering.status()["joins"]), "the question does not arrive")
    until(gateways, lambda: roof.peering.status()["streams"][0]["readers"] == 1, "nobody subscribes")
    now = time.time() + 1
    roof.given += [(now, 1, 1.0), (now + 1, 2, 2.0), (now + 2, 1, -3.0)]
    yard.given += [(now, 1, 10.0), (now + 1, 2, 20.0), (now + 20, 1, 30.0)]
    shipped: list[dict[str, object]] = []
    joined: list[dict[str, object]] = []

    def came() -> bool:
        shipped.extend(rows_of(whole))
        joined.extend(rows_of(pairs))
        return len(shipped) >= 3 and len(joined) >= 2

    until(gateways, came, "rows are missing")
    for _ in range(20):
        for one in gateways:
            one.turn()
    came()
    assert sorted((row["site"], row["x"]) for row in shipped) == [(1, -3.0), (1, 1.0), (2, 2.0)]
    assert sorted((row["r"], row["y"]) for row in joined) == [(1.0, 10.0), (2.0, 20.0)]
    # What a page shows: all peers with their arcs and books, here and elsewhere; the join with its state and text.
    # Arcs come with heartbeats: what was said before the ring had formed is soon replaced.
    until(
        gateways,
        lambda: sum(one["share"] or 0 for one in yard.peering.status()["ring"]) == pytest.approx(1, abs=1e-4),
        "the arcs are not those of the ring",
    )
    status = yard.peering.status()
    assert [one["name"] for one in status["ring"] if one["here"]] == ["yard"]
    assert all(one["load"] for one in status["ring"])
    assert {one["after"] for one in status["ring"]} == {one["id"] for one in status["ring"]}
    # Fingers before the successor are the successor, and are not kept: in a ring of two there may be none.
    assert {one["name"] for one in status["fingers"]} <= {"roof"}
    assert [(one["name"], one["known as"]) for one in status["peers"]] == [("roof", "successor")]
    [join] = status["joins"]
    assert (join["state"], join["answers"], join["text"]) == ("runs", 2, text)
    yard.station.remove(pairs.name)
    until(gateways, lambda: not roof.peering.status()["joins"], "the question does not end")


def test_an_aggregate_of_a_join_from_counts_and_sums_per_key(gateways: list[Gateway]) -> None:
    """At each tick the answer is that of counting pairs; peers send no pair."""
    roof, yard = gateways
    until(gateways, lambda: yard.database.catalog.extent("roof") is not None, "the other's stream is unknown")
    text = (
        "RSTREAM SELECT COUNT(*) AS n, SUM(R.x) AS s, AVG(Y.x) AS a, MAX(Y.x) AS m "
        "FROM roof R [RANGE 3 SECONDS SLIDE 1 SECOND], yard Y [RANGE 2 SECONDS SLIDE 1 SECOND] "
        "WHERE R.site = Y.site AND R.x > 0"
    )
    live = yard.station.install(yard.database.sql(text))
    assert "counts and sums" in yard.peering.notes[live.name]
    until(gateways, lambda: bool(roof.peering.status()["joins"]), "the question does not arrive")
    begin = int(time.time()) + 2
    left = [(begin + 0.1 * n, n % 3, float(n - 2)) for n in range(40)]
    right = [(begin + 0.15 * n, n % 2, float(n)) for n in range(30)]
    roof.given += [*left, (begin + 30, 9, 1.0)]
    yard.given += [*right, (begin + 30, 8, 1.0)]
    found: list[dict[str, object]] = []

    def came() -> bool:
        found.extend(rows_of(live))
        return len(found) >= 9

    until(gateways, came, "answers are missing")
    expected = []
    for tick in range(begin, begin + 9):
        pairs = [
            (r, y)
            for moment, site, r in left
            for other, place, y in right
            if site == place and r > 0 and tick - 3 < moment <= tick and tick - 2 < other <= tick
        ]
        ys = [y for _, y in pairs]
        expected.append((len(pairs), sum(r for r, _ in pairs) if pairs else None, max(ys, default=None)))
    assert [(row["n"], row["s"], row["m"]) for row in found[:9]] == expected
    averages = [row["a"] for row in found if row["n"]]
    assert averages
    assert all(isinstance(one, float) for one in averages)


def test_a_stream_of_peers_needs_peers(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE STREAM roof (x FLOAT) PUSHED;\n")
    database = nilometer.connect(tmp_path)
    found = database.catalog.extent("roof")
    assert isinstance(found, Stream)
    database.catalog.replace_stream(remote(found, "127.0.0.1:1"))
    with Station(database, tmp_path) as station, pytest.raises(ConfigurationError, match="another gateway"):
        station.install(database.sql("SELECT * FROM roof"))


def test_a_window_of_each_stream(gateways: list[Gateway]) -> None:
    """A pair is within the window of its earlier reading, at the ends of it, too."""
    roof, yard = gateways
    until(gateways, lambda: yard.database.catalog.extent("roof") is not None, "the other's stream is unknown")
    text = (
        "SELECT R.x AS r, Y.x + 1 AS y FROM roof R, yard Y WINDOW(R) = 5 SECONDS AND WINDOW(Y) = 2 SECONDS "
        "WHERE R.site = Y.site AND Y.x < 50"
    )
    live = yard.station.install(yard.database.sql(text))
    assert live.note is not None
    assert "peers join" in live.note
    until(gateways, lambda: bool(roof.peering.status()["joins"]), "the question does not arrive")
    now = float(int(time.time()) + 1)
    roof.given += [(now, 1, 1.0), (now + 4, 1, 2.0), (now + 9, 1, 3.0)]
    yard.given += [(now + 5, 1, 10.0), (now + 5.5, 1, 20.0), (now + 6, 1, 90.0), (now + 7, 1, 30.0)]
    found: list[dict[str, object]] = []

    def came() -> bool:
        found.extend(rows_of(live))
        return len(found) >= 5

    until(gateways, came, "pairs are missing")
    for _ in range(20):
        for one in gateways:
            one.turn()
    came()
    pairs = [(1.0, 11.0), (2.0, 11.0), (2.0, 21.0), (2.0, 31.0), (3.0, 31.0)]
    assert sorted((row["r"], row["y"]) for row in found) == pairs


def test_istream_over_brackets_is_that_of_one_gateway(gateways: list[Gateway]) -> None:
    """Its windows stand still while their stream pauses: so the streams are shipped, and the note says what peers join."""
    roof, yard = gateways
    until(gateways, lambda: yard.database.catalog.extent("roof") is not None, "the other's stream is unknown")
    text = (
        "ISTREAM SELECT R.x AS r, Y.x AS y FROM roof R [RANGE 5 SECONDS], yard Y [RANGE 2 SECONDS] "
        "WHERE R.site = Y.site"
    )
    live = yard.station.install(yard.database.sql(text))
    assert live.note is not None
    assert "WINDOW(R) = 5 SECONDS AND WINDOW(Y) = 2 SECONDS" in live.note
    until(gateways, lambda: roof.peering.status()["streams"][0]["readers"] == 1, "nobody subscribes")
    now = float(int(time.time()) + 1)
    left = [(now, 1, 1.0), (now + 9, 1, 2.0), (now + 30, 9, 0.0)]
    right = [(now + 1, 1, 10.0), (now + 6, 1, 20.0), (now + 20, 1, 30.0), (now + 30, 8, 0.0)]
    alone = nilometer.connect()
    alone.execute(
        "CREATE STREAM roof (site INT, x FLOAT) PUSHED; CREATE STREAM yard (site INT, x FLOAT) PUSHED"
    )
    for name, given in (("roof", left), ("yard", right)):
        rows = [{"time": int(moment * 1_000_000), "id": 1, "site": site, "x": x} for moment, site, x in given]
        alone.append(name, rows)
    expected = [(row["r"], row["y"]) for row in alone.sql(text).run()]
    assert (1.0, 20.0) in expected  # six seconds apart
    roof.given += left
    yard.given += right
    found: list[dict[str, object]] = []

    def came() -> bool:
        found.extend(rows_of(live))
        return len(found) >= len(expected)

    until(gateways, came, "rows are missing")
    for _ in range(20):
        for one in gateways:
            one.turn()
    came()
    assert sorted((row["r"], row["y"]) for row in found) == sorted(expected)


def test_only_rows_that_match_are_shipped(gateways: list[Gateway]) -> None:
    """A condition is applied at the home of the stream; the answer is that of one gateway, late readings too."""
    roof, yard = gateways
    until(gateways, lambda: yard.database.catalog.extent("roof") is not None, "the other's stream is unknown")
    text = "SELECT site, x FROM roof [NOW] WHERE x > 10 AND site < 8"
    assert "-- streams are shipped here: it is no join by WINDOW; of roof only readings with" in (
        yard.database.sql(text).explain("physical")
    )
    live = yard.station.install(yard.database.sql(text))
    assert live.note is not None
    assert "of roof only readings with roof.x > 10" in live.note
    until(gateways, lambda: roof.peering.status()["streams"][0]["readers"] == 1, "nobody subscribes")
    now = float(int(time.time()) + 1)
    # The fourth matches and is late: a reading that does not match has moved the watermark on.
    given = [(now, 1, 11.0), (now + 1, 2, 3.0), (now + 9, 9, 99.0), (now + 2, 4, 12.0), (now + 10, 5, 13.0)]
    alone = nilometer.connect()
    alone.execute("CREATE STREAM roof (site INT, x FLOAT) PUSHED")
    rows = [{"time": int(moment * 1_000_000), "id": 1, "site": site, "x": x} for moment, site, x in given]
    alone.append("roof", rows)
    expected = [(row["site"], row["x"]) for row in alone.sql(text).run()]
    assert expected == [(1, 11.0), (5, 13.0)]
    roof.given += [*given, (now + 20, 6, 0.0)]
    found: list[dict[str, object]] = []

    def came() -> bool:
        found.extend(rows_of(live))
        return len(found) >= len(expected)

    until(gateways, came, "rows are missing")
    for _ in range(20):
        for one in gateways:
            one.turn()
    came()
    assert [(row["site"], row["x"]) for row in found] == expected
    assert roof.peering.status()["load"]["shipped"] == len(expected)
    assert all(not one["name"].startswith("selected") for one in yard.database.show("STREAMS"))
    yard.station.remove(live.name)


def test_a_standing_selection_goes_on_after_a_restart(gateways: list[Gateway], tmp_path: Path) -> None:
    """What the home took in while the other gateway was away comes once it is back; nothing comes twice."""
    roof, yard = gateways
    until(gateways, lambda: yard.database.catalog.extent("roof") is not None, "the other's stream is unknown")
    text = "SELECT site, x FROM roof WHERE x > 10"
    live = yard.station.install(yard.database.sql(text), "hot", durable=True)
    until(gateways, lambda: roof.peering.status()["streams"][0]["readers"] == 1, "nobody subscribes")
    now = float(int(time.time()) + 1)
    roof.given += [(now, 1, 11.0), (now + 1, 2, 2.0)]
    until(gateways, lambda: len(list(yard.database.answers("hot"))) == 1, "the first row is missing")
    yard.close()
    roof.given += [(now + 2, 3, 13.0), (now + 3, 4, 4.0), (now + 4, 5, 15.0)]
    for _ in range(20):
        roof.turn()
    again = yard.again()
    gateways[1] = again
    live = again.station.install(again.database.sql(text), "hot", durable=True)
    assert live.note is not None
    assert "only readings with" in live.note
    until(gateways, lambda: len(list(again.database.answers("hot"))) >= 3, "rows are missing")
    assert [row["site"] for row in again.database.answers("hot")] == [1, 3, 5]


def logs_of_questions(gateway: Gateway) -> list[str]:
    names = LogDirectory(gateway.folder).names()
    return [name for name in names if name.startswith(("overlay_", "selected_"))]


def inner_streams(gateway: Gateway) -> list[str]:
    return [stream.name for stream in gateway.database.catalog.streams() if is_inner(stream)]


def test_the_log_of_a_question_goes_with_it(gateways: list[Gateway]) -> None:
    """Two queries share a selection: its log goes with the second. Asked again, it begins anew."""
    roof, yard = gateways
    until(gateways, lambda: yard.database.catalog.extent("roof") is not None, "the other's stream is unknown")
    hot = "SELECT site, x FROM roof WHERE x > 10"
    pairs = "SELECT R.x AS r, Y.x AS y FROM roof R, yard Y WINDOW = 5 SECONDS WHERE R.site = Y.site"
    first, second = (yard.station.install(yard.database.sql(hot)) for _ in range(2))
    joined = yard.station.install(yard.database.sql(pairs))
    until(gateways, lambda: bool(roof.peering.status()["joins"]), "the question does not arrive")
    until(gateways, lambda: roof.peering.status()["streams"][0]["readers"] == 1, "nobody subscribes")
    now = float(int(time.time()) + 1)
    roof.given += [(now, 1, 11.0), (now + 1, 2, 12.0)]
    yard.given += [(now, 1, 1.0), (now + 1, 2, 2.0)]
    found: dict[str, list[dict[str, object]]] = {first.name: [], second.name: [], joined.name: []}

    def came() -> bool:
        for live in (first, second, joined):
            found[live.name] += rows_of(live)
        return all(len(rows) >= 2 for rows in found.values())

    until(gateways, came, "rows are missing")
    assert [name.split("_")[0] for name in logs_of_questions(yard)] == ["overlay", "selected"]
    assert shown(yard.database.catalog, yard.station.manager.streams) == ["yard"]
    yard.station.remove(first.name)
    yard.station.remove(joined.name)
    until(gateways, lambda: len(logs_of_questions(yard)) == 1, "the log of the join stays")
    [selected] = logs_of_questions(yard)
    roof.given += [(now + 2, 3, 13.0)]
    until(gateways, lambda: [row["site"] for row in rows_of(second)] == [3], "its reader is cut off")
    yard.station.remove(second.name)
    until(gateways, lambda: not inner_streams(yard), "the selection stays")
    assert not logs_of_questions(yard)
    assert not yard.peering._selections
    again = yard.station.install(yard.database.sql(hot))
    assert yard.station.manager.is_open(selected), "the same selection"

    def told() -> bool:
        roof.given.append((time.time(), 4, 14.0))  # until the other gateway has subscribed again
        return {row["site"] for row in rows_of(again)} == {4}

    until(gateways, told, "asked again, it says nothing")


def test_only_logs_that_nobody_uses_go_at_the_start(gateways: list[Gateway]) -> None:
    """A killed gateway leaves the logs of its questions. Those of standing queries stay, also while one is not installed."""
    roof, yard = gateways
    until(gateways, lambda: yard.database.catalog.extent("roof") is not None, "the other's stream is unknown")
    text = "SELECT site, x FROM roof WHERE x > 10"
    yard.station.install(yard.database.sql(text), "hot", durable=True)
    [kept] = inner_streams(yard)
    until(gateways, lambda: roof.peering.status()["streams"][0]["readers"] == 1, "nobody subscribes")
    roof.given += [(float(int(time.time()) + 1), 1, 11.0)]
    until(gateways, lambda: len(list(yard.database.answers("hot"))) == 1, "the row is missing")
    yard.close()
    left = LogDirectory(yard.folder)
    for name in ("overlay_0123456789ab", "selected_0123456789ab", "overlay_of_mine"):
        with left.log(name, {"time": pl.Int64()}) as log:
            log.append(pl.DataFrame({"time": [1]}))
    gateways[1] = again = yard.again()
    until(gateways, lambda: len(logs_of_questions(again)) == 2, "what is left stays")
    again.peering._inner.look(again.station.clock() + 2 * MINUTE)
    assert logs_of_questions(again) == ["overlay_of_mine", kept]
    assert not list((yard.folder / PLACE).glob(".*"))
    again.station.install(again.database.sql(text), "hot", durable=True)
    roof.given += [(float(int(time.time()) + 3), 2, 12.0)]
    until(gateways, lambda: len(list(again.database.answers("hot"))) >= 2, "it does not go on")
    assert [row["site"] for row in again.database.answers("hot")] == [1, 2]
    again.station.remove("hot")
    assert not again.station.manager.is_open(kept)
    again.peering._inner.look(again.station.clock() + 4 * MINUTE)
    assert kept in logs_of_questions(again), "a paused query goes on where it was"
    again.database.execute(f"CREATE QUERY hot AS {text}")
    upkeep.drop(again.database, "hot")
    again.peering._inner.look(again.station.clock() + 6 * MINUTE)
    assert logs_of_questions(again) == ["overlay_of_mine"]
    assert not inner_streams(again)


@pytest.mark.parametrize(
    "selection",
    [
        "",
        "nonsense",
        "SP_ACQUIRE [roof AS R; nothing]",
        "PROJECT [1 AS x]",
        "SP_ACQUIRE [lake AS L; x; WHERE L.x > 1.0]",
    ],
)
def test_a_selection_that_is_none_ships_all_rows(gateways: list[Gateway], selection: str) -> None:
    """A peer of another release may say what we do not understand: it has the key, and it has its condition."""
    roof, yard = gateways
    stream = roof.database.catalog.extent("roof")
    assert isinstance(stream, Stream)
    roof.peering._homes.subscribe(yard.peering._peer.me, Subscribe("roof", -1, "mine", selection), stream)
    [one] = roof.peering._homes._subscribers.values()
    assert (one.name, one.selected) == ("mine", None)
    roof.turn()
