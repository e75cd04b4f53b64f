"""Sends requests over many connections as fast as the answers come: a program of its own, without asyncio and without
the rest of Nilometer, so that it takes a tenth of what the server takes.

    a list of requests (JSON: port, connections; then lengths and bytes) on stdin ─► {"seconds": ..., ...} on stdout

Each connection has one request under way: the next one goes when the answer is there. An answer of 429 or 503 is no
acknowledgement, and the request is sent again.
"""

import json
import select
import socket
import sys
import time

AGAIN = (b"429", b"503")
PATIENCE = 60


def main() -> None:
    """Read the requests, send them, and print how long it took."""
    head = json.loads(sys.stdin.buffer.readline())
    requests = [sys.stdin.buffer.read(length) for length in head["lengths"]]
    print(json.dumps(send(head["port"], min(head["connections"], len(requests)), requests)))


def send(port: int, connections: int, requests: list[bytes]) -> dict[str, object]:
    """Send all requests. Returns the seconds from the first byte to the last answer, the processor time of this program,
    the milliseconds of the middle and the slowest of 100 answers, and how often each status came."""
    poll = select.epoll()
    sockets = {}
    for _ in range(connections):
        one = socket.create_connection(("127.0.0.1", port))
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sockets[one.fileno()] = one
        poll.register(one.fileno(), select.EPOLLIN)
    waiting = requests[::-1]
    under_way: dict[int, tuple[bytes, float]] = {}
    parts = dict.fromkeys(sockets, b"")
    delays: list[float] = []
    statuses: dict[str, int] = {}
    began, own = time.perf_counter(), time.process_time()

    def following(number: int) -> None:
        if waiting:
            request = waiting.pop()
            under_way[number] = request, time.perf_counter()
            sockets[number].sendall(request)

    for number in sockets:
        following(number)
    while under_way:
        ready = poll.poll(PATIENCE)
        if not ready:
            raise SystemExit(f"no answer for {PATIENCE} seconds")
        for number, _ in ready:
            part = sockets[number].recv(1 << 16)
            if not part:
                raise SystemExit("the server has closed a connection")
            found = parts[number] + part
            status = _whole(found)
            if status is None:
                parts[number] = found
                continue
            parts[number] = b""
            request, at = under_way.pop(number)
            statuses[status.decode()] = statuses.get(status.decode(), 0) + 1
            if status in AGAIN:
                waiting.insert(0, request)
            else:
                delays.append(time.perf_counter() - at)
            following(number)
    seconds, spent = time.perf_counter() - began, time.process_time() - own
    delays.sort()
    return {
        "seconds": seconds,
        "processor": spent,
        "p50": 1_000 * delays[len(delays) // 2],
        "p99": 1_000 * delays[int(len(delays) * 0.99)],
        "statuses": statuses,
    }


def _whole(answer: bytes) -> bytes | None:
    """The status of an answer, if all of it is there."""
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return None
    at = answer.lower().find(b"content-length:", 0, end)
    if at < 0:
        raise SystemExit(f"an answer without a length: {answer[:200]!r}")
    length = int(answer[at + 15 : answer.index(b"\r\n", at)])
    return answer[9:12] if len(answer) >= end + 4 + length else None


if __name__ == "__main__":
    main()
