"""The emulator itself: what goes wrong in a run is seen, and the same run gives the same figures."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.dataflow.sources import MemorySources
from nilometer.engine.motes import CompileOptions, compile_query
from nilometer.errors import DataError, InfeasibleError, ResourceError, UnsupportedError
from nilometer.placement import QualityOfService
from nilometer.plan.reference import same_answer
from nilometer.sensornet.motes.compilation import Compilation, expected_rows, run
from nilometer.sensornet.motes.emulate import CYCLES_PER_TICK, Measured, emulate
from nilometer.sensornet.motes.gateway import answers
from nilometer.sensornet.motes.readings import random_readings, raw_counts
from nilometer.sensornet.motes.toolchain import build
from sensornet.motes.emulated import SCHEMA, ask, brook, grid

Q1 = "RSTREAM SELECT River.time, River.depth FROM River[NOW]"

pytestmark = [pytest.mark.motes, pytest.mark.slow]


@pytest.fixture(scope="module")
def compilation(tmp_path_factory: pytest.TempPathFactory) -> Compilation:
    query = ask(Q1)
    directory = tmp_path_factory.mktemp("motes")
    return compile_query(query, directory, CompileOptions(brook(), QualityOfService.of(buffering_factor=3)))


def test_select_query(compilation: Compilation) -> None:
    """SNEE's Q1, in three evaluations a period: its answers."""
    readings = random_readings(compilation.motes, 6, 1)
    result = run(compilation, readings, MemorySources())
    expected = expected_rows(compilation, readings, ask(Q1).logical, result.periods)
    given = result.answer.rows()
    assert same_answer(expected, given) is None
    assert len(given) == 4 * 6


def test_no_wait_ends_early(tmp_path: Path) -> None:
    """Whatever is left of a wait after whole turns of the counter: one tick, too, in which it is too late to set an alarm."""
    waits = [1, 2, 3, 255, 256, 257, 258, 512, 513, 514, 769, 1025]
    main = f"""
    int main(void) {{
        static const uint16_t waits[] = {{{", ".join(map(str, waits))}}};
        uint32_t at = 40;
        clock_start();
        sei();
        for (uint8_t i = 0; i < {len(waits)}; i++) {{
            wait_until(at, &never);
            MARK(1);
            at += waits[i];
            wait_until(at, &never);
            MARK(0);
            at += 3;
        }}
        for (;;) wait_until(at += 1000, &never);
    }}"""
    waited = _run_alone(main, tmp_path, 6 * 1024).tasks[1]
    assert waited.count == len(waits)
    assert abs(waited.total - sum(waits) * CYCLES_PER_TICK) < 0.2 * CYCLES_PER_TICK


def test_an_alarm_that_comes_while_the_next_is_set_is_counted_as_what_it_was(tmp_path: Path) -> None:
    """After a wait of two ticks the counter turns every two; wherever in its turn a long wait begins, it ends in time."""
    before = range(3450, 3620)  # of four cycles each: from a while before a turn's end to a while after
    main = f"""
    #include <util/delay_basic.h>
    int main(void) {{
        uint32_t at = 40;
        clock_start();
        sei();
        for (uint16_t i = {before.start}; i < {before.stop}; i++) {{
            wait_until(at, &never);
            MARK(1);
            wait_until(at + 2, &never);
            _delay_loop_2(i);
            at += 300;
            wait_until(at, &never);
            MARK(0);
        }}
        for (;;) wait_until(at += 1000, &never);
    }}"""
    waited = _run_alone(main, tmp_path, 310 * len(before)).tasks[1]
    assert waited.count == len(before)
    assert waited.longest < 300.5 * CYCLES_PER_TICK
    assert abs(waited.total / waited.count - 300 * CYCLES_PER_TICK) < 0.2 * CYCLES_PER_TICK


def test_motes_count_from_their_reset(tmp_path: Path) -> None:
    """Setting 3,600 bytes to zero takes three ticks, and a receiver listens two before the first byte."""
    main = """
    static volatile uint8_t large[3600];
    int main(void) {
        clock_start();
        sei();
        MARK(1 + large[0]);
        wait_until(10, &never);
        MARK(0);
        for (uint32_t at = 1000;; at += 1000) wait_until(at, &never);
    }"""
    assert _run_alone(main, tmp_path, 1024).tasks[1].total < 8 * CYCLES_PER_TICK


def test_a_core_does_not_sleep_over_an_interrupt_that_waits_at_sei(tmp_path: Path) -> None:
    """What is after SEI is executed before the handler: a SLEEP there is left at once, not met after the handler."""
    main = """
    int main(void) {
        clock_start();
        set_sleep_mode(SLEEP_MODE_IDLE);
        sleep_enable();
        for (;;) {
            cli();
            while (!(TIFR & _BV(OCF0))) ;
            MARK(1);
            sei();
            sleep_cpu();
            MARK(0);
        }
    }"""
    slept = _run_alone(main, tmp_path, 4 * 256).tasks[1]
    assert slept.count >= 4
    assert slept.longest < 100


def _run_alone(main: str, directory: Path, ticks: int) -> Measured:
    """A program of the runtime's clock and this, on a mote that has no neighbours."""
    runtime = files("nilometer.sensornet.motes") / "runtime"
    source = directory / "alone.c"
    source.write_text("\n".join((runtime / f"{part}.c").read_text() for part in ("head", "clock")) + main)
    alone = Network("alone", 0, (NetworkNode(0, 4096, 131_072),), ())
    return emulate({0: build(source).elf}, alone, {}, alpha=1024, ticks=ticks)[0]


def test_every_run_is_the_same(compilation: Compilation) -> None:
    readings = random_readings(compilation.motes, 6, 1)
    one, other = (run(compilation, readings, MemorySources()) for _ in range(2))
    assert one.measured == other.measured
    assert one.answer.equals(other.answer)


def test_motes_that_are_nearer_than_planned_disturb_each_other(compilation: Compilation) -> None:
    """9 and 6 send at the same time, as nobody was to hear both."""
    placement = compilation.placement
    together = [t for t in placement.agenda.transfers if t.start == placement.agenda.transfers[0].start]
    assert len(together) > 1
    extra = Link(together[0].source, together[1].target)
    nearer = replace(placement.network, links=(*placement.network.links, extra))
    motes = replace(compilation.motes, placement=replace(placement, network=nearer))
    result = run(replace(compilation, motes=motes), random_readings(motes, 6, 1), MemorySources())
    disturbed = result.measured[together[1].target]
    assert disturbed.collisions > 0
    assert disturbed.faults.keys() & {"checksum", "unheard"}
    assert not result.sound


def test_a_mote_out_of_reach_is_missed(compilation: Compilation) -> None:
    placement = compilation.placement
    first = placement.agenda.transfers[0]
    kept = tuple(k for k in placement.network.links if {k.source, k.target} != {first.source, first.target})
    motes = replace(
        compilation.motes, placement=replace(placement, network=replace(placement.network, links=kept))
    )
    result = run(replace(compilation, motes=motes), random_readings(motes, 6, 1), MemorySources())
    assert result.measured[first.target].faults == {"unheard": 2}


def test_a_garbled_line_is_refused(compilation: Compilation) -> None:
    readings = random_readings(compilation.motes, 3, 1)
    serial = run(compilation, readings, MemorySources()).measured[0].serial
    assert answers(compilation.motes, serial, 0, 3, MemorySources()).height
    changed = bytearray(serial)
    changed[7] ^= 1
    with pytest.raises(DataError, match="garbled"):
        answers(compilation.motes, bytes(changed), 0, 3, MemorySources())


def test_readings_that_no_converter_finds_are_refused(compilation: Compilation) -> None:
    readings = random_readings(compilation.motes, 1, 1)
    readings["river"][9][0]["depth"] = 1024  # type: ignore[index]
    with pytest.raises(DataError, match="10-bit converter"):
        raw_counts(compilation.motes, readings)


@pytest.mark.parametrize(
    ("text", "beta", "what"),
    [
        ("SELECT id, rain, depth, moisture FROM River [NOW]", 254, "memory"),
    ],
)
def test_what_motes_cannot_do_is_refused(text: str, beta: int, what: str, tmp_path: Path) -> None:
    with pytest.raises((UnsupportedError, InfeasibleError), match=what):
        compile_query(
            ask(text), tmp_path, CompileOptions(brook(), QualityOfService.of(buffering_factor=beta))
        )


def test_readings_that_no_packet_holds_are_refused(tmp_path: Path) -> None:
    columns = ", ".join(f"x{number} FLOAT" for number in range(7))
    query = ask("SELECT * FROM River", f"CREATE STREAM River ({columns}) SENSED EVERY 10 SECONDS")
    with pytest.raises(UnsupportedError, match="larger than a packet") as refused:
        compile_query(query, tmp_path, CompileOptions(brook(), QualityOfService.of(buffering_factor=3)))
    assert "packet_payload" not in (refused.value.hint or "")  # of our runtime, whatever the network says


def test_a_program_that_does_not_fit_into_its_flash_is_refused(tmp_path: Path) -> None:
    small = replace(brook(), nodes=tuple(replace(node, flash=1800) for node in brook().nodes))
    with pytest.raises(ResourceError, match="does not fit into its flash") as refused:
        compile_query(ask(Q1), tmp_path, CompileOptions(small, QualityOfService.of(buffering_factor=3)))
    assert "the node has 1800" in (refused.value.detail or "")


def test_more_motes_than_a_byte_tells_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="at most 255") as refused:
        compile_query(ask(Q1), tmp_path, CompileOptions(grid(20, 20, {"river": list(range(1, 400))})))
    assert "400 nodes take part" in (refused.value.detail or "")


def test_more_children_than_an_emulator_tells_apart_are_refused(tmp_path: Path) -> None:
    leaves = range(1, 231)
    nodes = (NetworkNode(0), *(NetworkNode(at, streams=("River",)) for at in leaves))
    star = Network("star", 0, nodes, tuple(Link(at, 0) for at in leaves))
    with pytest.raises(UnsupportedError, match="at most 223 children") as refused:
        compile_query(
            ask("SELECT MAX(depth) AS m FROM River [NOW]"),
            tmp_path,
            CompileOptions(star, QualityOfService.of(buffering_factor=1)),
        )
    assert "node 0 has 230" in (refused.value.detail or "")


def test_a_period_that_no_clock_counts_is_refused(tmp_path: Path) -> None:
    query = ask(Q1, SCHEMA.replace("10 SECONDS", "1 DAY"))
    with pytest.raises(UnsupportedError, match="24 days"):
        compile_query(query, tmp_path, CompileOptions(brook(), QualityOfService.of(buffering_factor=30)))
