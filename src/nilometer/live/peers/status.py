"""The ring as one gateway knows it: `nilometer peers`, and GET /api/v1/peers.

Numbers of 64 bits are written in hexadecimal, since JavaScript has no such integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nilometer.catalog import Stream
from nilometer.catalog.answer_streams import is_answers
from nilometer.catalog.peer_streams import home_of, is_inner
from nilometer.overlay.chord import Chord
from nilometer.overlay.flow import Query
from nilometer.overlay.peer import Peer
from nilometer.overlay.ring import BITS, Contact, distance
from nilometer.overlay.tally.tallies import TallyQuery
from nilometer.types import SECOND, format_time

Record = dict[str, Any]


def status_of(peer: Peer, streams: Iterable[Stream], readers: Mapping[str, int], shipped: int) -> Record:
    """All but what the shell adds: refused frames, notes, troubles."""
    chord = peer.chord
    return {
        "me": {"name": peer.me.name, "address": peer.me.address, "id": _hex(peer.me.id)},
        "member": chord.member,
        "owns": f"({_hex(chord.after)}, {_hex(peer.me.id)}]",
        "ring": _ring(peer),
        "fingers": _fingers(chord),
        "peers": [_peer(peer, one) for one in chord.view],
        "lost": sorted(chord.lost),
        "streams": [
            _stream(peer, one, readers.get(one.name, 0))
            for one in streams
            if not is_inner(one) and not is_answers(one)
        ],
        "joins": [_join(peer, query) for query in peer.queries.values()]
        + [_tally(peer, tally) for tally in peer.tallies.queries.values()],
        "load": peer.load.counts | {"shipped": shipped},
    }


def _ring(peer: Peer) -> list[Record]:
    """All known peers in the order of the ring, with their arcs. One whose arc is not known has none."""
    known = {one.address: one for one in [*peer.chord.view, peer.me]}
    found = []
    for address, said in peer.loads.known.items():
        known.setdefault(address, Contact(said.id, said.name, address))
    for address, one in known.items():
        load, state = peer.loads.known.get(address), _state(peer, address)
        # Others own the keys of a peer that is not reached.
        after = None if load is None or state == "not reached" else load.after
        whole = 1 << BITS
        size = None if after is None else distance(after, one.id) or whole
        heard = peer.loads.heard.get(address)
        found.append(
            {
                "id": _hex(one.id),
                "after": None if after is None else _hex(after),
                "share": None if size is None else round(size / whole, 6),
                "name": one.name,
                "address": address,
                "here": address == peer.me.address,
                "state": state,
                "heard": None if heard is None else round((peer.now - heard) / SECOND, 1),
                "load": None if load is None else load.counts,
            }
        )
    return sorted(found, key=lambda one: one["id"])


def _state(peer: Peer, address: str) -> str:
    """`member`, `joining` (only of ourselves), `not reached`."""
    if address == peer.me.address:
        return "member" if peer.chord.member else "joining"
    if address in peer.chord.lost:
        return "not reached"
    heard = peer.loads.heard.get(address)
    silent = heard is not None and peer.now - heard > peer.settings.silent
    return "not reached" if silent else "member"


def _fingers(chord: Chord) -> list[Record]:
    """The fingers, each peer once, with the first place that it stands for."""
    found: dict[Contact, int] = {}
    for place, one in sorted(chord.fingers.items()):
        found.setdefault(one, place)
    return [
        {"place": place, "start": _hex((chord.me.id + (1 << place)) % (1 << BITS)), "id": _hex(one.id)}
        | {"name": one.name, "address": one.address}
        for one, place in found.items()
    ]


def _peer(peer: Peer, one: Contact) -> Record:
    chord = peer.chord
    known = "finger"
    if one == chord.predecessor:
        known = "predecessor"
    if one in chord.successors:
        known = "successor"
    load = peer.loads.known.get(one.address)
    counts = {} if load is None else load.counts
    return {
        "name": one.name,
        "address": one.address,
        "id": _hex(one.id),
        "known as": known,
        "rows kept": counts.get("rows kept"),
        "overdue": counts.get("overdue"),
        "shed": counts.get("shed"),
        "lost": counts.get("lost"),
    }


def _stream(peer: Peer, stream: Stream, readers: int) -> Record:
    home, key = home_of(stream), stream.name.lower()
    reached = peer.streams.reached.get(key)
    asked = {one.stream.lower() for query in peer.queries.values() for one in query.plan.inputs}
    asked |= {one.stream.lower() for tally in peer.tallies.queries.values() for one in tally.plan.sides}
    # A home says how far its stream has come only while a join reads it.
    silent = home is not None and key in asked and peer.streams.silent(peer.now, key)
    return {
        "stream": stream.name,
        "home": home or "here",
        "readers": readers,
        "reached": None if reached is None else format_time(reached.watermark),
        "silent": silent,
    }


def _join(peer: Peer, query: Query) -> Record:
    flow = peer.flows[query.plan.shared]
    asked = peer.asked.get(query.id)
    return {
        "query": query.id,
        "asked by": query.asker.name or query.asker.address,
        "streams": ", ".join(one.stream for one in query.plan.inputs),
        "type": query.plan.kind,
        "state": _waits(peer, [one.stream for one in query.plan.inputs]),
        "rows kept": sum(windows.height for windows in flow.windows),
        "withheld": sum(part.height for parts in flow.withheld.values() for part in parts),
        "overdue": sum(windows.overdue for windows in flow.windows),
        "shed": sum(windows.shed for windows in flow.windows),
        "answers": None if asked is None else asked.count,
        "text": _text(peer, query.id),
    }


def _tally(peer: Peer, query: TallyQuery) -> Record:
    asked = peer.tallies.asked.get(query.id)
    store = peer.tallies.store(query.id)
    return {
        "query": query.id,
        "asked by": query.asker.name or query.asker.address,
        "streams": ", ".join(one.stream for one in query.plan.sides),
        "type": "aggregate",
        "state": _waits(peer, [one.stream for one in query.plan.sides]),
        "rows kept": 0 if store is None else store.height,
        "withheld": 0,
        "overdue": 0,
        "shed": 0 if store is None else store.shed,
        "answers": None if asked is None else asked.answered,
        "text": _text(peer, query.id),
    }


def _waits(peer: Peer, streams: Iterable[str]) -> str:
    """`runs`, or for which streams it waits."""
    silent = [
        name
        for name in dict.fromkeys(streams)
        if not peer.indexing.is_home(name.lower()) and peer.streams.silent(peer.now, name.lower())
    ]
    return f"waits for {', '.join(silent)}" if silent else "runs"


def _text(peer: Peer, query: str) -> str:
    known = peer.notices.known.get(query)
    return "" if known is None else str(known.notice.get("text", ""))


def _hex(number: int) -> str:
    return f"{number:016x}"
