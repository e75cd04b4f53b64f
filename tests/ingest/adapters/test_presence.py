"""What a status topic may carry, and the commands that answer it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nilometer.ingest.adapters.adapter import Command
from nilometer.ingest.adapters.presence import Said, read_status

times = st.none() | st.integers(0, 2**53)


@given(st.builds(Said, st.booleans(), times, times, st.none() | st.integers(0, 2**40), st.none()))
def test_a_status_comes_back_as_it_went(said: Said) -> None:
    assert read_status(said.as_json()) == said


def test_what_makes_no_sense_says_nothing() -> None:
    assert read_status(b"") is None
    assert read_status(b'{"time": 5}') is None
    said = read_status(
        b'{"state": "up", "time": "noon", "listening": "1970-01-01T00:00:01Z", "command": true}'
    )
    assert said == Said(True, None, 1_000_000, None)
    assert read_status(b'{"state": "up", "time": 1e300, "sensors": "all"}') == Said(True)


@given(st.binary(max_size=40))
def test_no_payload_is_an_accident(payload: bytes) -> None:
    read_status(payload)


durations = st.none() | st.integers(0, 10**12)


@given(
    st.builds(
        Command,
        durations,
        st.none() | st.text(),
        st.none() | st.text(),
        st.none() | st.booleans(),
        st.none() | st.integers(0, 2**40),
        durations,
        durations,
    )
)
def test_a_command_comes_back_as_it_went(command: Command) -> None:
    assert Command.from_json(command.as_json()) == command
