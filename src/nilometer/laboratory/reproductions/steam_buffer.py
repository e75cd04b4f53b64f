"""STEAM's two schemes for queries that share streams (steam.txt section 5.2), measured on buffers that do what the paper says (stream_buffers).

Q queries each read the same S streams, and a batch of every stream waits in every queue. Copies take Q*S
batches; the shared buffer takes S and a reference each. Then everything is read, and the time per tuple and
query is measured.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import polars as pl

from nilometer.laboratory.reproductions.verdict import exact, measured
from nilometer.laboratory.stream_buffers import CopiedBuffers, Costs, Memory, SharedBuffers, StreamUse, choose

QUERIES = (1, 2, 4, 8, 16)
STREAMS = (1, 4, 16)

Buffers = CopiedBuffers | SharedBuffers


def steam_buffer(rows: int = 1_000, rounds: int = 20) -> dict[str, Any]:
    """Memory and service time of both schemes over a grid of queries and shared streams."""
    batch = pl.DataFrame(
        {
            "@time": pl.int_range(rows, eager=True),
            "@id": pl.int_range(rows, eager=True) % 25,
            "value": pl.int_range(rows, eager=True) * 0.5,
        }
    )
    grid = [(queries, streams) for queries in QUERIES for streams in STREAMS]
    filled = {place: {name: _filled(name, *place, batch) for name in ("copied", "shared")} for place in grid}
    times = {
        place: {name: _service(name, *place, batch, rounds) for name in ("copied", "shared")}
        for place in grid
    }
    one = batch.head(1)
    single = {name: _service(name, 8, 4, one, rounds * 5) for name in ("copied", "shared")}
    copied = times[8, 4]["copied"] * rows
    costs = Costs(
        second_access=single["shared"],
        copy_batch=single["copied"],
        copy_byte=max(0.0, copied - single["copied"]) / batch.estimated_size(),
    )
    return {
        "name": "steam-buffer",
        "title": "STEAM, queries that share streams: a copy for each queue against one shared StreamBuffer",
        "figures": {
            "Section 5.2, memory": _memory(filled, batch),
            "Section 5.2, service time": _times(times, single, rows),
            "Section 5.2, the choice": _choices(batch, costs),
        },
        "assumptions": [
            f"every query reads every stream (the paper's worst case); one batch of {rows} tuples of three columns "
            f"({int(batch.estimated_size()):,} bytes) of each stream waits in each queue",
            "the unit of buffering is a batch, not a tuple: the count and the reference are per batch",
            "the copies are made: Polars frames would otherwise share their memory, which is the second scheme",
            "Q+S counts buffers, Q queues of references and S StreamBuffers of tuples; a reference is reckoned at 96 bytes",
            f"times are this machine's, the best of {rounds} rounds, put and get together, by tuple and query",
            "the choice is made with the costs measured here: an access and a copy from batches of one tuple, a byte from "
            "the rest (Q = 8, S = 4)",
        ],
    }


def _filled(name: str, queries: int, streams: int, batch: pl.DataFrame) -> Memory:
    buffers = _buffers(name, queries, streams)
    for stream in range(streams):
        buffers.put(f"s{stream}", batch)
    return buffers.memory()


def _buffers(name: str, queries: int, streams: int) -> Buffers:
    buffers: Buffers = CopiedBuffers() if name == "copied" else SharedBuffers()
    for query in range(queries):
        buffers.subscribe(f"q{query}", [f"s{stream}" for stream in range(streams)])
    return buffers


def _service(name: str, queries: int, streams: int, batch: pl.DataFrame, rounds: int) -> float:
    """Seconds per tuple and query, from put to get."""
    buffers, best = _buffers(name, queries, streams), float("inf")
    for _ in range(rounds):
        start = perf_counter()
        for stream in range(streams):
            buffers.put(f"s{stream}", batch)
        for query in range(queries):
            while buffers.get(f"q{query}") is not None:
                pass
        best = min(best, perf_counter() - start)
    return best / (queries * streams * batch.height)


def _memory(filled: dict[tuple[int, int], dict[str, Memory]], batch: pl.DataFrame) -> dict[str, Any]:
    lines = ["  Q   S   Q*S   Q+S   batches copied   shared      bytes copied       shared   ratio"]
    size, same, data = int(batch.estimated_size()), True, []
    for (queries, streams), found in filled.items():
        copied, shared = found["copied"], found["shared"]
        same &= copied.batches == queries * streams and shared.batches == streams
        same &= copied.batch_bytes == queries * streams * size and shared.batch_bytes == streams * size
        lines.append(
            f"{queries:3} {streams:3} {queries * streams:5} {queries + streams:5} {copied.batches:16} {shared.batches:8}"
            f" {copied.bytes:17,} {shared.bytes:12,} {copied.bytes / shared.bytes:7.1f}"
        )
        data.append(
            {"queries": queries, "streams": streams, "copied": copied.bytes, "shared": shared.bytes}
            | {"copied_batches": copied.batches, "shared_batches": shared.batches}
        )
    paper = "the first scheme requires buffer size Q*S; the second is additive in the numbers of queries and streams"
    return exact(paper, "\n".join(lines), same, data)


def _times(
    times: dict[tuple[int, int], dict[str, float]], single: dict[str, float], rows: int
) -> dict[str, Any]:
    lines = [f"batches of {rows}, ns per tuple and query:", "  Q   S   copied   shared"]
    for (queries, streams), found in times.items():
        lines.append(f"{queries:3} {streams:3} {found['copied'] * 1e9:8.2f} {found['shared'] * 1e9:8.2f}")
    lines.append(
        f"batches of one tuple (Q = 8, S = 4): copied {single['copied'] * 1e9:,.0f} ns, shared {single['shared'] * 1e9:,.0f} ns"
    )
    alone = [found for (queries, _), found in times.items() if queries == 1]
    by_size = [found["shared"] > found["copied"] for found in times.values()]
    slower = all(by_size)
    lines.append(
        "the second access is slower, as the paper says"
        if slower
        else "not as in the paper: in batches the second access is one look-up for many tuples, and copying costs more; "
        f"where nothing is copied (Q = 1), shared takes {sum(f['shared'] / f['copied'] for f in alone) / len(alone):.1f} "
        "times as long as copied"
    )
    data = [{"queries": q, "streams": s, **found} for (q, s), found in times.items()]
    paper = "the processing time of the second scheme is greater, since two accesses are needed to reference a tuple"
    return measured(paper, "\n".join(lines), wins=by_size[-1], everywhere=slower, data=data)


def _choices(batch: pl.DataFrame, costs: Costs) -> dict[str, Any]:
    size = batch.estimated_size()
    chosen = {
        queries: choose([StreamUse(f"s{i}", queries, size) for i in range(4)], costs) for queries in QUERIES
    }
    return exact(
        "copies while queries have little or nothing in common; one shared buffer as they have more",
        "\n".join(f"Q = {queries:2}, S = 4: {choice.why}" for queries, choice in chosen.items()),
        chosen[1].scheme == "copied" and chosen[16].scheme == "shared",
    )
