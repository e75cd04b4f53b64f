"""The distributed join against a nested loop: any clusters, doubles, equal times, disorder, clocks that
differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.errors import ConfigurationError
from nilometer.laboratory.central_join import central_answers
from nilometer.sensornet.clusters import NO_HEAD, clusters_of
from nilometer.sensornet.radio_network import Radio, linked_topology, placed_topology, uniform_positions
from nilometer.sensornet.snjoin import (
    Answers,
    Deployment,
    EveryHead,
    Feedback,
    JoinQuery,
    JoinRunResult,
    Matches,
    Readings,
    Strategy,
    radio_arrivals,
    recall,
    run_join,
    sensed,
    suggested_delay,
)
from nilometer.sensornet.snjoin.messages import ProbeRequest, Result

FAST = Radio(bytes_per_second=10**9, latency=2)
"""A byte a nanosecond, so that a hop takes three to five of the microseconds in which these tests count."""

LARGEST = 2_000

Lists = dict[tuple[int, int], dict[int, list[int]]]


def naive(readings: Readings, window: int) -> Lists:
    """Definition 1 in the order of the readings, tuple by tuple."""
    rows = sorted(
        (time, stream, sequence, value)
        for value, time, stream, sequence in zip(
            readings.value.tolist(),
            readings.time.tolist(),
            readings.stream.tolist(),
            readings.sequence.tolist(),
            strict=True,
        )
    )
    found: Lists = {}
    for place, (time, stream, sequence, value) in enumerate(rows):
        for earlier, other, _, its_value in rows[:place]:
            if its_value == value and other != stream and time - earlier <= window:
                found.setdefault((stream, sequence), {}).setdefault(other, []).append(earlier)
    return found


def line(head_of: list[int]) -> Deployment:
    """Sensors in a row, the sink behind the last of them."""
    count = len(head_of) + 1
    topology = linked_topology(count, [(node, node + 1, 0.9, 0.8) for node in range(count - 1)])
    return Deployment(topology, clusters_of(np.array([*head_of, NO_HEAD])), count - 1, FAST)


@st.composite
def deployments(draw: st.DrawFn) -> Deployment:
    """Up to six sensors in clusters of any form, with any member as the head."""
    count = draw(st.integers(1, 6))
    group = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    heads = {
        each: draw(st.sampled_from([node for node in range(count) if group[node] == each]))
        for each in sorted(set(group))
    }
    return line([heads[each] for each in group])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Deployment, JoinQuery, Readings, np.ndarray, np.ndarray]:
    """A deployment, a query, readings of some of its sensors, when they arrive, and the heads' clocks."""
    deployment = draw(deployments())
    sensors = deployment.topology.nodes - 1
    talking = draw(st.lists(st.integers(0, sensors - 1), min_size=1, max_size=sensors, unique=True))
    rows = draw(
        st.lists(st.tuples(st.sampled_from(talking), st.integers(0, 60), st.integers(-1, 1)), max_size=25)
    )
    readings = sensed([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    epsilon, period = draw(st.integers(0, 12)), draw(st.integers(1, 9))
    reach = draw(st.integers(0, 20))
    heads = deployment.clusters.count
    skews = np.array(
        draw(st.lists(st.integers(-reach, reach), min_size=heads, max_size=heads)), dtype=np.int64
    )
    wait = np.array(
        draw(st.lists(st.integers(-5, 12), min_size=len(rows), max_size=len(rows))), dtype=np.int64
    )
    latest = epsilon - skews[deployment.clusters.places()[readings.stream]] if rows else wait
    # Messages may wait for each other: so long in all they cannot, so few and short as they are.
    delay = suggested_delay(deployment, period, LARGEST, reach) + 1_000
    query = JoinQuery(draw(st.integers(0, 40)), epsilon, delay, period)
    return deployment, query, readings, readings.time + np.minimum(wait, latest), skews


@settings(max_examples=200)
@given(worlds())
def test_with_every_head_probed_the_answer_is_the_central_one(
    world: tuple[Deployment, JoinQuery, Readings, np.ndarray, np.ndarray],
) -> None:
    deployment, query, readings, arrivals, skews = world
    outcome = run_join(deployment, query, readings, arrivals=arrivals, skews=skews)
    expected = naive(readings, query.window)
    assert outcome.answers.lists() == expected
    assert central_answers(readings, query.window).lists() == expected
    assert (outcome.late, outcome.overdue) == (0, 0)
    assert outcome.tuples == len(readings)
    assert outcome.probes == outcome.offered == len(readings) * (deployment.clusters.count - 1)
    # What a head holds is bounded by the retention of section 5.1, from its horizon, and swept once a period.
    assert outcome.peak_age <= query.retention + query.period
    assert (outcome.delays >= 0).all() or (skews > 0).any() or (arrivals < readings.time).any()


@settings(max_examples=60)
@given(
    worlds(),
    st.sampled_from([Feedback(buckets=2), Feedback(buckets=2, length=2)]),
    st.integers(0, 3),
)
def test_with_feedback_nothing_is_made_up_or_doubled_and_the_own_cluster_is_complete(
    world: tuple[Deployment, JoinQuery, Readings, np.ndarray, np.ndarray], strategy: Feedback, seed: int
) -> None:
    deployment, query, readings, arrivals, skews = world
    outcome = run_join(deployment, query, readings, strategy, arrivals, seed, skews)
    expected = naive(readings, query.window)
    found = outcome.answers.lists()
    assert outcome.probes <= outcome.offered
    head_of = deployment.clusters.head_of
    for name, lists in found.items():
        # A head is probed or not: its streams are all there, or none of them is.
        heads = {int(head_of[stream]) for stream in lists}
        assert lists == {s: times for s, times in expected[name].items() if int(head_of[s]) in heads}
    for name, lists in expected.items():
        own = {s: times for s, times in lists.items() if head_of[s] == head_of[name[0]]}
        assert own.items() <= found.get(name, {}).items()


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30), st.integers(0, 1)), max_size=20))
def test_the_number_of_clusters_changes_nothing(rows: list[tuple[int, int, int]]) -> None:
    rows = [(stream, 25 * time, value) for stream, time, value in rows]
    readings = sensed([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    answers = []
    for head_of in ([0] * 6, [3, 3, 2, 3, 3, 2], [0, 0, 2, 2, 4, 4], [0, 1, 2, 3, 4, 5]):
        deployment = line(head_of)
        query = JoinQuery(200, 40, suggested_delay(deployment, 10, LARGEST), 10)
        answers.append(run_join(deployment, query, readings).answers.lists())
    assert all(each == answers[0] for each in answers)


def test_of_equal_times_the_greater_stream_joins_whatever_the_clusters() -> None:
    readings = sensed([0, 1], [5, 5], [1, 1])
    for heads in ([0, 1], [0, 0], [1, 1]):
        found = run_join(line(heads), JoinQuery(0, 20, 100, 10), readings).answers.lists()
        assert found == {(1, 0): {0: [5]}}


def test_the_window_is_closed_and_looks_back_only() -> None:
    readings = sensed([0, 1, 2], [0, 10, 11], [1, 1, 1])
    outcome = run_join(line([0, 1, 2]), JoinQuery(10, 50, 100, 10), readings)
    assert outcome.answers.lists() == {(1, 0): {0: [0]}, (2, 0): {1: [10]}}
    assert outcome.answers.arity == 1.0


def test_a_probe_waits_for_a_head_whose_clock_is_behind() -> None:
    readings = sensed([0, 1], [100, 90], [1, 1])
    # Head 0 is ahead and sends its tuple at 110; head 1 gets its reading at 125, in time by its own clock.
    outcome = run_join(
        line([0, 1]),
        JoinQuery(50, 40, 200, 5),
        readings,
        arrivals=np.array([100, 125]),
        skews=np.array([30, 0]),
    )
    assert outcome.answers.lists() == {(0, 0): {1: [90]}}
    assert outcome.delays.min() > 40


def test_late_readings_are_counted_and_left_out() -> None:
    readings = sensed([0, 1, 0], [0, 0, 40], [1, 1, 1])
    arrivals = np.array([0, 35, 40])
    outcome = run_join(line([0, 0]), JoinQuery(60, 20, 100, 10), readings, arrivals=arrivals)
    assert outcome.late == 1
    assert outcome.answers.lists() == {}


def test_a_reading_is_late_once_the_horizon_has_passed_it() -> None:
    """At 25 the head has taken all up to 5; what comes at 26 from then or earlier is late."""
    for time, late in ((4, 1), (5, 1), (6, 0)):
        readings = sensed([0, 1], [0, time], [1, 1])
        outcome = run_join(line([0, 0]), JoinQuery(60, 20, 100, 5), readings, arrivals=np.array([0, 26]))
        assert (outcome.late, len(outcome.answers.tuples)) == (late, 1 - late)


def test_probes_that_come_after_the_retention_are_counted() -> None:
    rows = [(stream, 20 * place, 1) for place in range(20) for stream in range(4)]
    readings = sensed(*(list(column) for column in zip(*rows, strict=True)))
    slow = replace(line([0, 1, 2, 3]), radio=Radio(bytes_per_second=10**6, latency=50))
    hasty = run_join(slow, JoinQuery(60, 100, 10, 10), readings)
    assert hasty.overdue > 0
    patient = run_join(slow, JoinQuery(60, 100, 100_000, 10), readings)
    assert patient.overdue == 0
    assert recall(hasty.answers, patient.answers) < 1
    assert patient.answers.lists() == naive(readings, 60)
    assert hasty.peak_rows < patient.peak_rows


def test_an_outer_join_answers_the_same_and_sends_a_cell_for_every_stream_it_probed() -> None:
    readings = sensed([0, 1, 2, 3], [0, 10, 20, 500], [1, 1, 1, 9])
    deployment, query = line([0, 0, 2, 3]), JoinQuery(60, 10, 10_000, 10)
    sparse, outer = (run_join(deployment, query, readings, outer=each) for each in (False, True))
    assert outer.answers.lists() == sparse.answers.lists() == naive(readings, 60)
    assert outer.probes == sparse.probes


def test_messages_have_the_size_of_what_they_carry() -> None:
    rows = sensed([0, 1], [5, 6], [1, 2])
    matches = Matches(np.array([0, 0, 1]), np.array([4, 4, 2]), np.array([1, 2, 3]), np.array([0, 1, 0]))
    asked = np.array([[False, True, True], [False, True, False]])
    left = np.array([[False, False, True], [False, False, False]])
    number = np.arange(2)
    request = ProbeRequest(0, 0, 2, rows, number, asked, left, matches)
    result = Result(0, 0, 2, rows, number, asked, matches)
    # An envelope, two tuples of twelve bytes, three heads; two sublists of three bytes, three times of four.
    assert request.size(False) == 8 + 2 * 12 + 3 * 2 + 2 * 3 + 3 * 4
    assert result.size(False) == 8 + 2 * 12 + 2 * 3 + 3 * 4
    members = np.array([2, 1, 4])
    # An outer join's rows have a cell for each stream of the heads that they have been at, their own included.
    assert request.size(False, members) == 8 + 2 * 12 + 3 * 2 + (3 + 3) + 3 * 4
    assert result.size(False, members) == 8 + 2 * 12 + (7 + 3) + 3 * 4


def test_no_readings_no_answers() -> None:
    outcome = run_join(line([0, 1]), JoinQuery(10, 10, 100, 10), sensed([], [], []))
    assert len(outcome.answers.tuples) == len(outcome.delays) == outcome.tuples == 0
    assert recall(outcome.answers, outcome.answers) == 1.0
    assert outcome.answers.arity == 0.0


def field(sensors: int = 60) -> tuple[Deployment, Readings]:
    """A field in nine square clusters; the values of the left column are its own, and so are those of the
    others."""
    positions = np.concatenate((uniform_positions(sensors, 3), [[0.5, 0.5]]))
    cell = (positions[:, 0] * 3).astype(int) * 3 + (positions[:, 1] * 3).astype(int)
    head_of = np.array([int(np.flatnonzero(cell[:-1] == each)[0]) for each in cell[:-1]] + [NO_HEAD])
    deployment = Deployment(placed_topology(positions, 0.3, 3), clusters_of(head_of), sensors, FAST)
    random = np.random.default_rng(8)
    count = 2_000
    stream = random.integers(0, sensors, count)
    time = np.sort(random.integers(0, 20_000, count))
    side = (positions[stream, 0] > 1 / 3).astype(np.int64)
    return deployment, sensed(stream, time, side * 10 + random.integers(0, 3, count))


def signature(outcome: JoinRunResult) -> object:
    return (
        outcome.answers.lists(),
        outcome.delays.tolist(),
        outcome.traffic,
        outcome.probes,
        [matrix.tolist() for matrix in outcome.relevance],
    )


def run_field(
    strategy: Strategy, seed: int = 0, until: int = 20_000
) -> tuple[Deployment, Readings, JoinQuery, JoinRunResult]:
    deployment, readings = field()
    readings = readings.take(readings.time < until)
    query = JoinQuery(2_000, 500, 5_000, 500)
    return deployment, readings, query, run_join(deployment, query, readings, strategy, seed=seed)


def test_feedback_saves_probes_bytes_and_time_and_loses_little() -> None:
    _, readings, query, everyone = run_field(EveryHead())
    expected = central_answers(readings, query.window)
    assert everyone.answers.lists() == expected.lists()
    assert everyone.notes == 0
    _, _, _, guided = run_field(Feedback(rate=0.25))
    assert guided.notes > 0
    assert guided.probes < 0.65 * everyone.probes
    assert recall(guided.answers, expected) > 0.9
    assert guided.traffic["probe"].bytes < 0.75 * everyone.traffic["probe"].bytes
    assert guided.delays.mean() < everyone.delays.mean()
    assert is_part_of(guided.answers, expected)


def is_part_of(found: Answers, expected: Answers) -> bool:
    def cells(answers: Answers) -> Counter[tuple[int, ...]]:
        rows = answers.tuples.take(answers.matches.probe)
        return Counter(
            zip(
                rows.stream.tolist(),
                rows.sequence.tolist(),
                answers.matches.stream.tolist(),
                answers.matches.time.tolist(),
                strict=True,
            )
        )

    return cells(found) <= cells(expected)


def test_the_seed_decides_everything() -> None:
    first, again, other = (run_field(Feedback(), seed, 4_000)[3] for seed in (1, 1, 2))
    assert signature(first) == signature(again)
    assert signature(first) != signature(other)


def test_what_was_learned_is_used_from_the_start() -> None:
    deployment, readings, query, learned = run_field(Feedback(), until=8_000)
    first = readings.take(readings.time < 1_000)
    expected = central_answers(first, query.window)
    fresh = run_join(deployment, query, first, Feedback())
    taught = run_join(deployment, query, first, Feedback(), relevance=learned.relevance)
    assert recall(fresh.answers, expected) < 0.9 < recall(taught.answers, expected)


def test_a_roulette_asks_so_many_heads() -> None:
    _, readings, _, outcome = run_field(Feedback(length=3), until=3_000)
    assert outcome.probes == 3 * len(readings)


def test_a_head_whose_cluster_starts_matching_again_is_found_again() -> None:
    """Two heads agree, then do not, then do: by then the relevance fell to the floor, and it comes back."""
    deployment = line([0, 1])
    times = np.arange(0, 60_000, 10)
    agreeing = (times < 20_000) | (times >= 40_000)
    # While they do not agree, the values have the same bucket: there is only one.
    second = np.where(agreeing, 1, 2)
    readings = sensed(
        np.repeat([0, 1], len(times)),
        np.concatenate((times, times + 5)),
        np.concatenate((np.ones_like(times), second)),
    )
    query = JoinQuery(100, 50, 1_000, 200)
    strategy = Feedback(buckets=1, floor=0.05)
    outcome = run_join(deployment, query, readings, strategy)
    expected = central_answers(readings, query.window)

    def share(start: int, end: int) -> float:
        return part(outcome.answers, start, end) / max(1, part(expected, start, end))

    def part(answers: Answers, start: int, end: int) -> int:
        time = answers.tuples.time[answers.matches.probe]
        return int(np.count_nonzero((time >= start) & (time < end)))

    assert share(5_000, 20_000) > 0.95
    assert share(45_000, 60_000) > 0.95
    silent = run_join(
        deployment, query, readings.take((readings.time >= 20_000) & (readings.time < 40_000)), strategy
    )
    assert silent.probes < 0.2 * silent.offered
    assert max(matrix[0].min() for matrix in silent.relevance) == 0.0


def test_readings_take_their_way_over_the_radio() -> None:
    deployment = line([0, 0, 2])
    readings = sensed([0, 1, 2], [0, 0, 0], [1, 1, 1])
    arrivals, traffic = radio_arrivals(deployment, readings)
    assert arrivals[0] == arrivals[2] == 0
    assert arrivals[1] == FAST.delay(10, 1, 1 / (0.9 * 0.8))
    assert (traffic.messages, traffic.hops, traffic.bytes) == (1, 1, 33)
    late, _ = radio_arrivals(deployment, readings, jitter=100, seed=1)
    assert arrivals[1] < late[1] <= arrivals[1] + 100
    assert run_join(deployment, JoinQuery(9, 9, 99, 9), readings).traffic["reading"] == traffic


def test_what_cannot_be_deployed_is_refused() -> None:
    good = line([0, 0])
    with pytest.raises(ConfigurationError, match="sink"):
        replace(good, sink=1)
    with pytest.raises(ConfigurationError, match="another network"):
        replace(good, clusters=clusters_of(np.array([0, 0])))
    with pytest.raises(ConfigurationError, match="no cluster"):
        run_join(good, JoinQuery(1, 1, 10, 1), sensed([2], [0], [0]))
    with pytest.raises(ConfigurationError):
        JoinQuery(-1, 0, 10, 1)
    with pytest.raises(ConfigurationError, match="period"):
        JoinQuery(1, 0, 9, 10)
    apart = Deployment(linked_topology(3, [(0, 2, 1, 1)]), clusters_of(np.array([0, 0, NO_HEAD])), 2, FAST)
    with pytest.raises(ConfigurationError, match="no route from node 0 to node 1"):
        run_join(apart, JoinQuery(1, 1, 10, 1), sensed([1], [0], [0]))
