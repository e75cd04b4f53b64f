"""What every operator promises its shells, whatever it computes (operators/logic.py). Operators are in `operators.CASES`."""

from __future__ import annotations

import polars as pl
import pytest

from contract.discovery import discovered
from contract.in_two_steps import InTwoSteps
from contract.operators import CASES, Case
from contract.rounds import (
    STREAM,
    WINDOWS,
    Output,
    bag,
    evaluations_of,
    generate,
    rounds,
    run,
    state_size,
)
from contract.windowed_streams import OverWindows
from nilometer.operators import frames
from nilometer.operators.logic import EVALUATION, EVALUATIONS_SCHEMA, TICK, Progress
from nilometer.operators.window_ticks import WindowTicks

ROWS = 40
EVERYTHING = 10**6

every_operator = pytest.mark.parametrize("case", CASES, ids=str)


def outputs_in_rounds_of(case: Case, size: int, seed: int = 1) -> list[Output]:
    return list(run(case.spec.build(), rounds(generate(case.inputs, ROWS, seed), size)))


def same_state(one: dict[str, bytes], other: dict[str, bytes]) -> bool:
    """Equal panes; frames are compared as frames, for what bytes lie under a NULL means nothing."""
    return one.keys() == other.keys() and all(
        one[name] == other[name] or frames.from_bytes(one[name]).equals(frames.from_bytes(other[name]))
        for name in one
    )


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_operator_is_held_to_the_contract() -> None:
    cases = [case.spec for case in CASES]
    wrapped = [spec for spec in cases if isinstance(spec, OverWindows | InTwoSteps)]
    held = {type(spec) for spec in cases} | {type(spec.spec) for spec in wrapped} | {WindowTicks}
    assert discovered() == held - {OverWindows, InTwoSteps}


@every_operator
@pytest.mark.parametrize(("seed", "size"), [(1, 1), (2, 7)])
def test_one_batch_gives_what_many_small_ones_give(case: Case, seed: int, size: int) -> None:
    whole = outputs_in_rounds_of(case, EVERYTHING, seed)
    assert bag(whole), "a case that gives nothing shows nothing"
    parts = outputs_in_rounds_of(case, size, seed)
    assert bag(parts) == bag(whole)
    assert evaluations_of(parts) == evaluations_of(whole)


@every_operator
def test_several_updates_of_a_port_are_one(case: Case) -> None:
    one, other = case.spec.build(), case.spec.build()
    for round_ in rounds(generate(case.inputs, ROWS, 3), 20):
        for port, rows in round_.updates:
            one.update(port, rows)
            whole = case.inputs[port].collection not in (STREAM, WINDOWS)
            for part in [rows] if whole else [rows.head(4), rows.clear(), rows.slice(4)]:
                other.update(port, part)
        assert bag([one.advance(round_.progress)]) == bag([other.advance(round_.progress)])


@every_operator
def test_a_restored_logic_continues(case: Case) -> None:
    sequence = rounds(generate(case.inputs, ROWS, 4), 8)
    for cut in range(1, len(sequence), 2):
        straight = case.spec.build()
        list(run(straight, sequence[:cut]))
        panes = straight.snapshot()
        resumed = case.spec.build()
        resumed.restore(panes)
        assert same_state(resumed.snapshot(), panes)
        for expected, given in zip(run(straight, sequence[cut:]), run(resumed, sequence[cut:]), strict=True):
            assert bag([given]) == bag([expected])  # groups stand in no order
            assert given.evaluations.equals(expected.evaluations)


@every_operator
def test_a_snapshot_between_update_and_advance_is_whole(case: Case) -> None:
    first, *_ = rounds(generate(case.inputs, ROWS, 5), EVERYTHING)
    straight, resumed = case.spec.build(), case.spec.build()
    for port, rows in first.updates:
        straight.update(port, rows)
    resumed.restore(straight.snapshot())
    assert bag([resumed.advance(first.progress)]) == bag([straight.advance(first.progress)])


@every_operator
def test_rows_come_when_they_are_complete_and_never_late(case: Case) -> None:
    sequence = rounds(generate(case.inputs, ROWS, 6), 5)
    passed = None
    for round_, output in zip(sequence, run(case.spec.build(), sequence), strict=True):
        watermark = round_.progress.watermark
        if case.gate is not None:
            assert (output.rows[case.gate] < watermark).all()
        if passed is not None and TICK in output.rows.columns:
            assert (output.rows[TICK] >= passed).all()
        if EVALUATION in output.rows.columns:
            assert set(output.rows[EVALUATION]) <= set(output.evaluations[EVALUATION])
        assert output.evaluations[EVALUATION].is_sorted()
        passed = watermark


@every_operator
def test_state_does_not_grow_with_the_stream(case: Case) -> None:
    if not case.bounded:
        pytest.skip("keeps what its question needs: all of the stream")
    sequence = rounds(generate(case.inputs, 1_500, 7), 100)
    logic = case.spec.build()
    sizes = []
    for _ in run(logic, sequence[:-1]):
        sizes.append(state_size(logic))
    third = len(sizes) // 3
    assert max(sizes[-third:], default=0) <= 1.5 * max(sizes[:third], default=0) + 2_000


@every_operator
def test_nothing_gives_nothing(case: Case) -> None:
    logic = case.spec.build()
    nothing = pl.DataFrame(schema=EVALUATIONS_SCHEMA)
    for watermark in (-(2**63), -5, 0, 7, 2**63 - 1):
        progress = Progress(watermark, None, tuple(nothing for _ in case.inputs))
        output = logic.advance(progress)
        assert not output.rows.height
        assert not output.evaluations.height
    assert state_size(logic) < 20_000


@every_operator
def test_every_round_has_the_same_columns(case: Case) -> None:
    outputs = outputs_in_rounds_of(case, 11)
    empty = next(iter(run(case.spec.build(), rounds(generate(case.inputs, 0, 1), 1))))
    assert {tuple(output.rows.schema.items()) for output in outputs} == {tuple(empty.rows.schema.items())}
    assert {tuple(output.evaluations.schema.items()) for output in outputs} == {
        tuple(EVALUATIONS_SCHEMA.items())
    }


@every_operator
def test_the_same_input_gives_the_same_rows_in_the_same_order(case: Case) -> None:
    for one, other in zip(outputs_in_rounds_of(case, 13), outputs_in_rounds_of(case, 13), strict=True):
        assert one.rows.equals(other.rows)
