"""Answers from a sink's serial line, as it comes: the reference evaluator's, in the times of this world."""

from __future__ import annotations

import binascii
import os
import pty
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nilometer.engine import Answer
from nilometer.engine.mote_answers import mote_answers
from nilometer.engine.motes import Emulation, listener
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.byte_line import ByteLine
from nilometer.placement import QualityOfService
from nilometer.sensornet.motes.compilation import START
from nilometer.types import SECOND
from sensornet.motes.emulated import Trial, ask, brook, tried

pytestmark = [pytest.mark.motes, pytest.mark.slow]

BETA = 4
SLIDING = "SELECT MEDIAN(depth) AS m, COUNT(*) AS n FROM River [RANGE 30 SECONDS SLIDE 20 SECONDS]"
TWO_KINDS = (
    "SELECT r.depth, h.rain FROM River [NOW] r, Hilltop [NOW SLIDE 20 SECONDS] h WHERE r.rain < h.rain"
)
PLAIN = "SELECT id, depth FROM River [NOW]"


@pytest.fixture(scope="module", params=[SLIDING, TWO_KINDS, PLAIN])
def trial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    found = tried(request.param, tmp_path_factory.mktemp("motes"), beta=BETA, periods=3)
    assert found.emulation.difference is None
    return found


def said(emulation: Emulation) -> bytes:
    return emulation.run.measured[0].serial


def heard(trial: Trial, line: bytes, piece: int, start: int | None = None, now: int = START) -> Any:
    """The rows of a line that comes in pieces, and who listened."""
    quality = QualityOfService.of(buffering_factor=BETA)
    hearing = listener(trial.query, brook(), quality, start)
    frames = [rows for at in range(0, len(line), piece) for rows in hearing.hear(line[at : at + piece], now)]
    frames += hearing.close()
    return [row for rows in frames for row in Answer(trial.query.schema, rows).rows], hearing


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_as_it_comes(trial: Trial, piece: int) -> None:
    rows, hearing = heard(trial, said(trial.emulation), piece, START)
    assert sorted(rows) == trial.emulation.answer.rows
    assert hearing.heard.frames == 3 * len(trial.compilation.motes.delivered)
    assert (hearing.heard.missing, hearing.heard.resets, hearing.skipped) == (0, 0, 0)


def test_times_are_those_at_which_it_comes(trial: Trial) -> None:
    """A delivery says when evaluation 0 was; windows that slide end at multiples of their SLIDE."""
    agenda = trial.compilation.placement.agenda
    interval, later = 10 * SECOND, 1_000 * 20 * SECOND
    now = START + later + round(agenda.seconds(agenda.delivery) * 1e6) + 2 * SECOND
    first = said(trial.emulation)[: len(said(trial.emulation)) // 3]
    rows, _ = heard(trial, first, 10_000, now=now)
    expected = [
        (row[0] + later, *row[1:]) for row in trial.emulation.answer.rows if row[0] < START + BETA * interval
    ]
    assert sorted(rows)[: len(expected)] == expected


def test_a_frame_that_is_lost_is_missing_and_the_others_are_answered(trial: Trial) -> None:
    line = bytearray(said(trial.emulation))
    line[2] ^= 255
    rows, hearing = heard(trial, bytes(line), 10_000, START)
    assert hearing.skipped > 0
    assert hearing.heard.frames == 3 * len(trial.compilation.motes.delivered) - 1
    late = START + 2 * BETA * 10 * SECOND  # no window looks back that far
    assert [row for row in sorted(rows) if row[0] >= late] == [
        row for row in trial.emulation.answer.rows if row[0] >= late
    ]


def test_a_sink_that_is_reset_begins_anew(trial: Trial) -> None:
    line = said(trial.emulation)
    rows, hearing = heard(trial, line + line, 10_000, START)
    assert hearing.heard.resets == 1
    ticks = [row[0] for row in rows]
    assert ticks == sorted(ticks)
    again = [row[1:] for row in rows if row[0] >= START + 3 * BETA * 10 * SECOND]
    assert len(again) == len(trial.emulation.answer.rows)


def test_a_recorded_line_does_not_go_on_in_the_present(trial: Trial, tmp_path: Path) -> None:
    """After a reset, its rows follow those before, not what the clock says while it is read."""
    (tmp_path / "line").write_bytes(2 * said(trial.emulation))
    hearing = listener(trial.query, brook(), QualityOfService.of(buffering_factor=BETA), START)
    with ByteLine(str(tmp_path / "line")) as line:
        answers = list(mote_answers(trial.query, hearing, line, over=lambda: False))
    assert hearing.heard.resets == 1
    assert max(row[0] for answer in answers for row in answer.rows) < START + 7 * BETA * 10 * SECOND


def test_a_start_at_which_nobody_acquires_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no evaluation is at 2026-01-01T00:00:07Z"):
        listener(ask(PLAIN), brook(), QualityOfService.of(buffering_factor=BETA), START + 7 * SECOND)


def test_another_query_is_not_answered(trial: Trial) -> None:
    hearing = listener(
        ask("SELECT id, rain FROM River [NOW]"), brook(), QualityOfService.of(buffering_factor=BETA)
    )
    assert hearing.hear(said(trial.emulation), START) == []
    assert hearing.close() == []
    assert hearing.heard.frames == 0
    assert hearing.skipped == len(said(trial.emulation))


def test_a_serial_device(trial: Trial, tmp_path: Path) -> None:
    """A pseudo-terminal stands for /dev/ttyUSB0: bytes come as they are, whatever a terminal would make of them."""
    controller, device = pty.openpty()
    hearing = listener(trial.query, brook(), QualityOfService.of(buffering_factor=BETA), START)
    rows: list[tuple[Any, ...]] = []
    record = (tmp_path / "line").open("ab")
    with record, ByteLine(os.ttyname(device)) as line:
        os.write(controller, said(trial.emulation))
        whole = 3 * len(trial.compilation.motes.delivered)
        for answer in mote_answers(
            trial.query, hearing, line, over=lambda: hearing.heard.frames >= whole, record=record
        ):
            rows += answer.rows
    os.close(controller)
    os.close(device)
    assert sorted(rows) == trial.emulation.answer.rows
    assert (tmp_path / "line").read_bytes() == said(trial.emulation)


# ---- clocks ------------------------------------------------------------------------------------------------------------

INTERVAL = 10 * SECOND
PERIOD = BETA * INTERVAL


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return tried(PLAIN, tmp_path_factory.mktemp("motes"), beta=BETA, periods=1)


def frame(trial: Trial, period: int) -> bytes:
    """What the first period said, as another period's."""
    line = said(trial.emulation)
    content = (period * BETA).to_bytes(4, "little") + line[5:-2]
    check = binascii.crc_hqx(content, trial.compilation.motes.fingerprint(trial.compilation.start))
    return line[:1] + content + check.to_bytes(2, "big")


def followed(trial: Trial, arrivals: list[tuple[int, int]]) -> tuple[list[int], Any]:
    """The ticks of the rows of periods that come at these times after START, and who listened."""
    hearing = listener(trial.query, brook(), QualityOfService.of(buffering_factor=BETA))
    ticks: list[int] = []
    for period, at in arrivals:
        for rows in hearing.hear(frame(trial, period), START + at):
            ticks += rows.get_column("tick").to_list()
    assert ticks == sorted(ticks)
    return ticks, hearing


@pytest.mark.parametrize("share", [0.01, -0.01])
def test_times_follow_a_sink_whose_clock_is_off(plain: Trial, share: float) -> None:
    """A hundredth stands for the hundred-thousandths of a crystal, and hours for months."""
    periods = 300
    arrivals = [(n, round((n + 1) * PERIOD * (1 + share))) for n in range(periods)]
    ticks, hearing = followed(plain, arrivals)
    off = START + arrivals[-1][1] - (ticks[-1] + INTERVAL)
    assert abs(off) <= 2 * INTERVAL
    assert hearing.heard.corrections == pytest.approx(periods * BETA * abs(share), abs=2)
    assert (hearing.heard.resets, hearing.heard.missing) == (0, 0)
    assert len(ticks) + hearing.heard.late == hearing.heard.tuples == 4 * BETA * periods
    assert hearing.heard.late == (0 if share > 0 else 4 * hearing.heard.corrections)


def test_frames_that_are_held_up_set_no_clock(plain: Trial) -> None:
    random = Random(3)
    held = [random.randrange(2 * PERIOD) if n % 4 == 1 else 0 for n in range(60)]
    times = [(n + 1) * PERIOD + held[n] for n in range(60)]
    arrivals = [(n, max(times[: n + 1])) for n in range(60)]  # a line keeps its order
    ticks, hearing = followed(plain, arrivals)
    assert (hearing.heard.corrections, hearing.heard.resets, hearing.heard.late) == (0, 0, 0)
    assert ticks[-1] - ticks[0] == (60 * BETA - 1) * INTERVAL


def test_what_a_serial_server_kept_for_us_is_as_old_as_it_is(plain: Trial) -> None:
    hearing = listener(plain.query, brook(), QualityOfService.of(buffering_factor=BETA))
    kept = b"".join(frame(plain, n) for n in range(5))
    rows = hearing.hear(kept, START + 5 * PERIOD)
    assert abs(rows[-1].get_column("tick").max() - (START + 5 * PERIOD - INTERVAL)) <= INTERVAL
    assert (hearing.heard.corrections, hearing.heard.resets, hearing.heard.late) == (0, 0, 0)


def test_a_number_that_cannot_be_is_another_count(plain: Trial) -> None:
    """However far it is, it costs nothing, and the times stay those at which it comes."""
    arrivals = [(n, (n + 1) * PERIOD) for n in range(3)] + [(100_000_000, 4 * PERIOD), (4, 5 * PERIOD)]
    ticks, hearing = followed(plain, arrivals)
    assert hearing.heard.resets == 2
    assert abs(ticks[-1] - (START + 5 * PERIOD)) <= 2 * PERIOD
    recorded = listener(plain.query, brook(), QualityOfService.of(buffering_factor=BETA), START)
    frames = [recorded.hear(frame(plain, n), START, recorded=True) for n in (0, 100_000_000, 4)]
    assert [len(rows) for rows in frames] == [1, 1, 1]
    assert recorded.heard.resets == 2
