"""Opens a gateway's place among its peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nilometer.engine.declaration import statement_of
from nilometer.engine.remote_streams import read_stream
from nilometer.language import print_statement
from nilometer.live.peers.peering import Peering, PeerOptions, Texts

if TYPE_CHECKING:
    from nilometer.live.station import Station


def open_peering(station: Station, options: PeerOptions, say: Callable[[str], None]) -> Peering:
    """Make the station a peer. From here on its queries may name streams of others."""
    texts = Texts(lambda stream: print_statement(statement_of(stream)), read_stream)
    peering = station.peering = Peering(station, options, texts, say)
    joined = f", joining the ring of {options.join}" if options.join else ", the first of a ring"
    say(f"peer '{options.name}' at {options.address}{joined}")
    return peering
