"""The same protocol over real sockets on loopback: answers of peers equal those of trying every combination, also when
a peer goes without a word."""

from __future__ import annotations

import socket
import time

import polars as pl
import pytest

from nilometer.overlay.chord import Times
from nilometer.overlay.delivery import Patience
from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.peer import Peer, Settings
from nilometer.overlay.ring import Contact
from nilometer.overlay.tcp import TcpPeer
from nilometer.types import SECOND
from overlay.scenes import Memory, results
from overlay.test_joins import CHAIN, TRIPLE

KEY = b"a key of peers on loopback"
PATIENCE = 60.0
START = 1_000 * SECOND


def now() -> int:
    return time.time_ns() // 1_000


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until(met: object, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not met():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Ring:
    """Peers of this process."""

    def __init__(self, count: int) -> None:
        settings = Settings(
            slack=600 * SECOND,
            silent=600 * SECOND,
            patience=Patience(SECOND // 2, 60),
            times=Times(SECOND // 10, SECOND, SECOND // 2),
        )
        self.tcp: list[TcpPeer] = []
        for at, port in enumerate(free_ports(count)):
            me = Contact((at << 60) + 12345, f"p{at}", f"127.0.0.1:{port}")
            peer = TcpPeer(Peer(me, now(), settings), KEY, now)
            self.tcp.append(peer)
            if at == 0:
                peer.call(peer.peer.begin)
            else:
                first = Contact(0, "", self.tcp[0].peer.me.address)
                peer.call(lambda peer=peer, first=first: peer.peer.join(first))  # type: ignore[misc]
        until(
            lambda: all(
                one.call(lambda one=one: one.peer.notices.pulled and len(one.peer.chord.view) == count - 1)
                for one in self.tcp
            ),
            "the ring does not form",
        )

    def close(self) -> None:
        for one in self.tcp:
            one.close(leaving=False)


@pytest.mark.parametrize("plan", [TRIPLE, CHAIN], ids=["3", "chain"])
def test_answers_over_sockets_when_a_peer_goes(plan: JoinPlan) -> None:
    ring = Ring(4)
    try:
        memories = {one.stream: Memory() for one in plan.inputs}
        asker = ring.tcp[0]
        homes = dict(zip(memories, (ring.tcp[0], ring.tcp[1], ring.tcp[2]), strict=True))
        for name, home in homes.items():
            home.call(lambda home=home, name=name: home.peer.home(name, memories[name]))
        asker.call(lambda: asker.peer.ask(now(), "q", plan, START))
        for turn in range(6):
            for name, home in homes.items():
                columns = sorted({c for one in plan.inputs if one.stream == name for c in one.columns})
                rows = pl.DataFrame(
                    {
                        "@position": [2 * turn, 2 * turn + 1],
                        "@time": [START + turn * SECOND, START + turn * SECOND + 7],
                    }
                    | {c: [turn % 2, (turn + 1) % 3] for c in columns}
                )
                memories[name].add(rows)
                home.call(
                    lambda home=home, name=name, rows=rows, turn=turn: home.peer.offer(
                        now(), name, rows, START + turn * SECOND
                    )
                )
            if turn == 2:
                ring.tcp.pop(3).close(leaving=False)
        expected = results(plan, {name: memory.rows for name, memory in memories.items()}, START)
        assert expected
        until(lambda: asker.call(lambda: asker.peer.asked["q"].count) >= len(expected), "results are missing")
        ids = [f"@position{at}" for at in range(len(plan.inputs))]
        found = [
            row
            for rows in asker.call(lambda: asker.peer.asked["q"].taken())
            for row in rows.select(ids).rows()
        ]
        assert sorted(found) == expected
    finally:
        ring.close()
