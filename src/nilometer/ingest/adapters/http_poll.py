"""Polls an HTTP server at an interval: JSON, SenML or CSV, by the response's media type or by its first
characters.

`http://host/readings.json?interval=5s`; our options are removed from the URL before it is requested. ETag and
Last-Modified are sent back, so an unchanged response costs nothing and is not read twice. A sensed stream
does not send them: there an unchanged response is a new reading all the same, because the sensor was asked
and that is its value now. A failed request is repeated after longer and longer waits, up to the interval or a
minute, whichever is more.

The laws: one request at a time, in a thread of its own, so that a slow server never holds up `read`. A request
takes `timeout` in all, however the server drips its bytes.
"""

from __future__ import annotations

import http.client
import threading
import urllib.error
from dataclasses import dataclass

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.ingest.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.ingest.adapters.deadline import Deadline
from nilometer.ingest.adapters.http_opener import request_for
from nilometer.ingest.adapters.wake import Wake
from nilometer.ingest.payloads import Decoder, Format, Messages, Times, format_of
from nilometer.redaction import redacted
from nilometer.types import MINUTE, SECOND

OPTIONS = "interval timeout format time limit".split()
LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class _Answer:
    """The outcome of a request: a body, nothing new (None), or trouble."""

    body: bytes | None = None
    content_type: str | None = None
    trouble: str | None = None


class HttpPollAdapter(Adapter):
    """Requests one resource again and again."""

    def __init__(self, stream: Stream, address: Address, clock: Clock) -> None:
        super().__init__(stream, clock)
        self.address = address
        self.url = redacted(request_for(address, tuple(OPTIONS)).full_url)
        """Where readings come from, for people and for dead letters."""
        self._interval = max(1, address.duration("interval", stream.every or 10 * SECOND))
        self._timeout = address.duration("timeout", 10 * SECOND) / SECOND
        self._limit = address.count("limit", LIMIT)
        self._decoder = Decoder(
            stream, format=address.word("format", Format.AUTO), times=address.word("time", Times.EITHER)
        )
        self._validators: dict[str, str] = {}
        self._answered = Wake()
        self.wake = self._answered
        self._answer: _Answer | None = None
        self._asking: threading.Thread | None = None
        self._due = 0
        self._failures = 0
        self._trouble: str | None = None
        self._open = False

    def open(self) -> None:
        self._open = True
        self._due = self.clock()

    def read(self) -> ReadResult:
        if not self._open:
            return self.nothing(Status.END)
        now = self.clock()
        if self._asking is None:
            if now >= self._due:
                self._asking = threading.Thread(
                    target=self._ask, name=f"poll {self.stream.name}", daemon=True
                )
                self._asking.start()
            return self.nothing()
        answer = self._answer
        if answer is None:
            return self.nothing()
        self._asking.join()
        self._answered.clear()
        self._asking, self._answer = None, None
        self._schedule(answer, now)
        if answer.body is None:
            return self.nothing()
        lines = "ndjson" in (answer.content_type or "")
        payloads = [line for line in answer.body.split(b"\n") if line.strip()] if lines else [answer.body]
        decoded = self._decoder.decode(
            Messages(payloads, [now] * len(payloads), [self.url] * len(payloads)),
            None if self._decoder.format is not Format.AUTO else format_of(answer.content_type),
        )
        return ReadResult(Status.NEW_VALUE, decoded.rows, decoded.garbled, arrived=now, fields=decoded.fields)

    def close(self) -> None:
        self._open = False
        if self._asking is not None:
            self._asking.join(self._timeout)

    @property
    def due(self) -> int | None:
        return self._due

    @property
    def trouble(self) -> str | None:
        return self._trouble

    def _schedule(self, answer: _Answer, now: int) -> None:
        """Set the time of the next request: on the grid of the interval, or sooner after a failure."""
        self._trouble = answer.trouble
        if answer.trouble is None:
            self._failures = 0
            self._due += self._interval * max(1, -(-(now + 1 - self._due) // self._interval))
        else:
            wait = min(SECOND << min(self._failures, 20), max(self._interval, MINUTE))
            self._failures += 1
            self._due = now + wait

    # ---- the thread --------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        self._answer = self._request()
        self._answered.set()

    def _request(self) -> _Answer:
        accepted = "application/senml+json, application/json, text/csv, */*;q=0.1"
        deadline = Deadline(self._timeout)
        try:
            request = request_for(self.address, tuple(OPTIONS), {"Accept": accepted} | self._validators)
            with deadline, deadline.opener().open(request, timeout=self._timeout) as response:
                body = response.read(self._limit + 1)
                if len(body) > self._limit:
                    return _Answer(trouble=f"more than {self._limit} bytes in one answer")
                if (
                    deadline.over
                ):  # a read that the deadline cut off looks like the end of an answer of unknown length
                    return _Answer(trouble=deadline.trouble)
                if response.length:  # a read with a limit does not report that the connection broke off
                    return _Answer(trouble=f"the answer broke off, {response.length} bytes before its end")
                # Only a complete response may be skipped next time.
                self._validators = {} if self.stream.sensed else _validators(response.headers)
                return _Answer(body, response.headers.get("Content-Type"))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 304:
                    return _Answer()
                return _Answer(trouble=f"{error.code} {error.reason}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            if deadline.over:
                return _Answer(trouble=deadline.trouble)
            reason = str(getattr(error, "reason", None) or str(error) or type(error).__name__)
            return _Answer(trouble=self.address.hide(reason))


def _validators(headers: http.client.HTTPMessage) -> dict[str, str]:
    found = {"If-None-Match": headers.get("ETag"), "If-Modified-Since": headers.get("Last-Modified")}
    return {name: value for name, value in found.items() if value}
