"""A small auction house: people, auctions and bids, as NEXMark defines them; the same for every run."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

STATES = ("OR", "ID", "CA", "WA", "AZ", "WY")
CHANNELS = ("Google", "Facebook", "Baidu", "Apple", "channel-41", "channel-7")
START = 1_767_225_600_000_000  # 2026-01-01, in microseconds
SECOND = 1_000_000


@dataclass
class Events:
    """The rows of the three streams, each in the order of its time. Times are microseconds."""

    person: list[dict[str, Any]] = field(default_factory=list)
    auction: list[dict[str, Any]] = field(default_factory=list)
    bid: list[dict[str, Any]] = field(default_factory=list)


def events(count: int, seed: int = 7) -> Events:
    """`count` events: of 50, one is a person, three are auctions and the others are bids. No two events have
    the same time, and no two bids of an auction the same price."""
    chance = random.Random(seed)
    found = Events()
    for number in range(count):
        time = START + number * 170_000 + chance.randrange(1_000) * 100
        # Every so often nobody does anything for a while, so that sessions end.
        time += number // 400 * 25 * SECOND
        kind = number % 50
        if kind == 0:
            found.person.append(_person(chance, len(found.person), time))
        elif kind < 4:
            found.auction.append(_auction(chance, len(found.auction), len(found.person), time))
        else:
            found.bid.append(_bid(chance, number, len(found.auction), len(found.person), time))
    return found


def _person(chance: random.Random, number: int, time: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"person {number}",
        "emailAddress": f"p{number}@example.org",
        "creditCard": "1234 5678",
        "city": chance.choice(["Portland", "Boise", "Phoenix"]),
        "state": chance.choice(STATES),
        "dateTime": time,
        "extra": "x" * chance.randrange(4),
    }


def _auction(chance: random.Random, number: int, people: int, time: int) -> dict[str, Any]:
    initial = chance.randrange(1, 100)
    return {
        "id": number,
        "itemName": f"item {number}",
        "description": "as new",
        "initialBid": initial,
        "reserve": initial + chance.randrange(100),
        "dateTime": time,
        "expires": time + chance.randrange(2, 40) * SECOND,
        "seller": chance.randrange(max(1, people - 4), people + 1) - 1 if people else 0,
        "category": chance.choice([10, 11, 12]),
        "extra": "",
    }


def _bid(chance: random.Random, number: int, auctions: int, people: int, time: int) -> dict[str, Any]:
    channel = chance.choice(CHANNELS)
    return {
        "auction": chance.randrange(max(0, auctions - 8), auctions),
        "bidder": chance.randrange(people),
        "price": chance.randrange(1, 2_000) * 10_000 + number % 10_000,
        "channel": channel,
        "url": f"https://www.nexmark.com/{channel.lower()}/a{number % 17}/item.htm?query=1&channel_id={number % 911}",
        "dateTime": time,
        "extra": "c" * chance.randrange(5),
    }
