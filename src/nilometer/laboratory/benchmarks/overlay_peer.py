"""One peer of `bench overlay`, in a process of its own: commands come as lines, answers go as JSON lines.

    python -m nilometer.laboratory.benchmarks.overlay_peer NAME ADDRESS JOIN|- STREAM|-

Two peers are homes of a stream each, `X` and `Y`, whose readings have their position as key: reading n of X joins reading n
of Y. `go START RATE` lets the stream flow, by the clock; the peer of X has asked, and says what it found.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from threading import Lock, Thread

import numpy as np
import polars as pl

from nilometer.overlay.delivery import Patience
from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.peer import Peer, Settings
from nilometer.overlay.ring import Contact, contact
from nilometer.overlay.tcp import TcpPeer
from nilometer.types import INT_MINIMUM, SECOND

PLAN = JoinPlan.of([("X", ("k",)), ("Y", ("k",))], [((0, "k"), (1, "k"))], 5 * SECOND)
PACE = 0.05
KEY = b"the key of a benchmark"


def now() -> int:
    return time.time_ns() // 1_000


class _Flow:
    """The readings of a stream, as they are due."""

    whole_since = INT_MINIMUM

    def __init__(self, tcp: TcpPeer, stream: str) -> None:
        self._tcp, self._stream = tcp, stream
        self._frames: list[pl.DataFrame] = []
        self.count = 0
        self._over = False
        self._turn = Lock()
        self.ends: int | None = None
        tcp.call(lambda: tcp.peer.home(stream, self))

    def since(self, moment: int) -> pl.DataFrame:
        found = [one.filter(pl.col("@time") >= moment) for one in self._frames]
        return pl.concat(found) if found else pl.DataFrame()

    def go(self, start: int, rate: float) -> None:
        Thread(target=self._run, args=(start, rate), daemon=True).start()

    def _run(self, start: int, rate: float) -> None:
        while not self._over:
            with self._turn:
                moment = now()
                due = int(max(0, moment - start) * rate / SECOND)
                if self.ends is not None:
                    due = min(due, self.ends)
                positions = np.arange(self.count, due, dtype=np.int64)
                rows = pl.DataFrame(
                    {
                        "@position": positions,
                        "@time": start + (positions * SECOND / rate).astype(np.int64),
                        "k": positions,
                    }
                )
                self.count = max(due, self.count)
            self._tcp.call(partial(self._offer, rows, moment))
            time.sleep(PACE)

    def pause(self) -> int:
        """Let no further reading flow. Returns how many have."""
        with self._turn:
            self.ends = self.count
            return self.count

    def _offer(self, rows: pl.DataFrame, moment: int) -> None:
        if rows.height:
            self._frames.append(rows)
        self._tcp.peer.offer(moment, self._stream, rows, moment - SECOND)


class _Found:
    """The results: how many, each once or not, and how long after their last reading."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.results: list[pl.DataFrame] = []
        self.delays: list[pl.Series] = []

    def turn(self) -> None:
        asked = self._peer.asked.get("q")
        for rows in [] if asked is None else asked.taken():
            self.results.append(rows.select("@position0", "@position1"))
            self.delays.append(now() - rows.select(pl.max_horizontal("@time0", "@time1")).to_series())

    def report(self) -> dict[str, float]:
        if not self.results:
            return {"results": 0}
        found = pl.concat(self.results)
        delays = pl.concat(self.delays) / SECOND
        wrong = found.filter(pl.col("@position0") != pl.col("@position1")).height
        distinct = found.n_unique()
        return {
            "results": found.height,
            "distinct": distinct,
            "wrong": wrong,
            "p50": float(delays.quantile(0.5) or 0),
            "p99": float(delays.quantile(0.99) or 0),
        }


def main(name: str, address: str, join: str, stream: str) -> None:
    """Run until the end of the commands."""
    settings = Settings(silent=30 * SECOND, patience=Patience(SECOND, 15))
    peer = Peer(contact(name, address), now(), settings)
    found = _Found(peer)
    tcp = TcpPeer(peer, KEY, now, found.turn)
    tcp.call(peer.begin if join == "-" else lambda: peer.join(Contact(0, "", join)))
    flow = None if stream == "-" else _Flow(tcp, stream)
    for line in sys.stdin:
        command, *arguments = line.split()
        answer: dict[str, object] = {}
        match command:
            case "peers":
                answer = {"peers": tcp.call(lambda: len(peer.chord.view) if peer.notices.pulled else -1)}
            case "ask":
                tcp.call(lambda: peer.ask(now(), "q", PLAN, 0))
            case "go" if flow is not None:
                flow.go(int(arguments[0]), float(arguments[1]))
            case "pause" if flow is not None:
                answer = {"sent": flow.pause()}
            case "until" if flow is not None:
                flow.ends = int(arguments[0])
            case "report":
                answer = dict(tcp.call(found.report))
                answer |= {"sent": 0 if flow is None else flow.count, "cpu": time.process_time()}
                answer |= {
                    "overdue": tcp.call(lambda: peer.joining.overdue),
                    "kept": tcp.call(lambda: peer.joining.kept),
                }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
