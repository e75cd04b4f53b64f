"""The definitions of the mining functions, by other means than their twins: FFT, enumeration, brute force, the papers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.errors import NilometerError, ResourceError
from nilometer.laboratory.nab_peers import windowed_gaussian
from nilometer.laboratory.nab_score import Labelled, best_score, score
from nilometer.laboratory.reproductions.steam_mining import steam_mining
from nilometer.mining import patterns as patterns_
from nilometer.types import SECOND


def database(values: list[Any], kind: str = "FLOAT") -> nilometer.Database:
    """A stream of one source, a reading every second."""
    made = nilometer.connect()
    made.execute(f"CREATE STREAM s (v {kind}) PUSHED EXPECT EVERY 1 SECOND")
    made.append("s", [{"time": SECOND * (n + 1), "id": 1, "v": v} for n, v in enumerate(values)])
    return made


def rows(made: nilometer.Database, text: str) -> list[dict[str, Any]]:
    return list(made.sql(text).run("gateway"))


def test_the_papers_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NILOMETER_EXAMPLE_DATA", raising=False)
    result = steam_mining()
    assert [figure["verdict"] for figure in result["figures"].values()] == ["the same", "the same"]


def test_periods_are_those_of_fourier_transforms() -> None:
    """Elfeky et al. count matches at all distances at once, as a product of transforms, symbol by symbol."""
    series = np.random.default_rng(3).integers(0, 3, 200)
    found = rows(
        database(series.tolist(), "INT"),
        "SELECT * FROM PERIODS(s, v UP TO 40 SEGMENTS ALL CONFIDENCE 0) [RANGE 200 SECONDS SLIDE 200 SECONDS]",
    )
    matches = np.zeros(400)
    for symbol in range(3):
        spectrum = np.fft.rfft(series == symbol, 400)
        matches += np.fft.irfft(spectrum * spectrum.conj(), 400)
    expected = np.rint(matches[1:41]).astype(int).tolist()
    assert [row["count"] for row in found] == expected
    assert [row["of"] for row in found] == [200 - period for period in range(1, 41)]


def test_the_left_profile_is_that_of_brute_force() -> None:
    series = np.random.default_rng(5).normal(0, 1, 60).cumsum() + 1e6
    series[20:26] = series[20]  # a constant stretch
    found = rows(database(series.tolist()), "SELECT * FROM DISCORDS(s, v LENGTH 6) [RANGE 30 SECONDS]")
    shapes = []
    for begin in range(55):
        part = series[begin : begin + 6]
        shapes.append((part - part.mean()) / part.std() if part.max() > part.min() else np.zeros(6))
    assert len(found) == 55 - 2
    for row in found:
        begin = row["begin"].timestamp()
        others = range(max(int(begin) + 6 - 30, 0), int(begin) - 1)
        least = min(float(np.linalg.norm(shapes[int(begin)] - shapes[other])) for other in others)
        assert row["distance"] == pytest.approx(least, abs=1e-6)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40), st.sampled_from("abc")), max_size=150),
    st.integers(5, 12),
    st.integers(1, 20),
)
def test_approximate_counts_keep_their_promise(
    given_: list[tuple[int, int, str]], missing: int, support: int
) -> None:
    """No false negative, none below support - n, and no count that is more than n too small."""
    support += missing
    db = nilometer.connect()
    db.execute("CREATE STREAM s (x STRING) PUSHED EXPECT EVERY 1 SECOND")
    ordered = sorted(given_)
    db.append("s", [{"time": (at + 1) * 1_000_000, "id": id_, "x": x} for at, id_, x in ordered])
    window = "[RANGE 12 SECONDS SLIDE 2 SECONDS]"
    call = "SELECT tick, sequence, sources FROM SUBSEQUENCES(s, x LENGTH 1 TO 2 {}) " + window
    exact = {(row["tick"], row["sequence"]): row["sources"] for row in db.sql(call.format("SUPPORT 1"))}
    asked = db.sql(call.format(f"SUPPORT {support} APPROXIMATE {missing}"))
    found = {(row["tick"], row["sequence"]): row["sources"] for row in asked}
    assert {key for key, sources in exact.items() if sources >= support} <= found.keys()
    for key, sources in found.items():
        assert support - missing <= sources <= exact[key] <= sources + missing


def test_separated_blobs_are_clusters_of_their_own() -> None:
    random = np.random.default_rng(1)
    centres = np.array([0.0, 10.0, 20.0, 35.0])
    owners = random.integers(0, 4, 300)
    found = rows(
        database((centres[owners] + random.normal(0, 0.3, 300)).tolist()),
        "SELECT * FROM CLUSTERS(s, v RADIUS 2)",
    )
    assert len({row["cluster"] for row in found}) == 4
    assert (
        len({(int(owner), row["cluster"]) for owner, row in zip(owners, found, strict=True)}) == 4
    )  # purity 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("PERIODS(s, v UP TO 5) [RANGE 9 SECONDS]", "which of its values are the same symbol?"),
        ("PERIODS(s, v BREAKS (3, 1) UP TO 5) [RANGE 9 SECONDS]", "must ascend"),
        (
            "PERIODS(s, v LEVELS 3 BETWEEN 2 AND 1 UP TO 5) [RANGE 9 SECONDS]",
            "a lower bound below the upper one",
        ),
        ("PERIODS(s, v BREAKS (1) UP TO 5 EVERY 1 HOUR) [RANGE 9 MINUTES]", "holds no slot of 1 HOUR"),
        ("PERIODS(s, v BREAKS (1) UP TO 5 PEAKS) [RANGE 9 SECONDS]", "PEAKS needs SEGMENTS"),
        ("DISCORDS(s, v LENGTH 24) [RANGE 20 SECONDS]", "too few for two subsequences of 24"),
        ("DISCORDS(s, v LENGTH 24)", "DISCORDS needs a window"),
        ("SIMILAR_TO(s, v, (1, 2, 3))", "needs one of WITHIN and NEAREST"),
        (
            "SUBSEQUENCES(s, v BREAKS (1) LENGTH 10 TO 12) [RANGE 9 SECONDS]",
            "9 slots, too few for a subsequence of 10",
        ),
        ("SUBSEQUENCES(s, v BREAKS (1) LENGTH 5 TO 2) [RANGE 9 SECONDS]", "the smaller first"),
        (
            "SUBSEQUENCES(s, v BREAKS (1) LENGTH 2 TO 3 SUPPORT 5 APPROXIMATE 5) [RANGE 9 SECONDS]",
            "must be more than APPROXIMATE 5",
        ),
        ("SUBSEQUENCES(s, v BREAKS (1) LENGTH 2 TO 12 GAPS 3) [RANGE 9 SECONDS]", "forms or more"),
        ("CLUSTERS(s, v RADIUS 1 CENTRES) [RANGE 9 SECONDS]", "counts all points so far"),
        ("CLUSTERS(s, v RADIUS 1 PROJECT 1)", "does not make points of 1 numbers shorter"),
        ("CLUSTERS(s, v RADIUS 1 GROUPS 2)", "they need CENTRES"),
        ("OUTLIERS(s, v) [RANGE v SECONDS]", "one length of time for all sources"),
    ],
)
def test_what_is_refused(call: str, message: str) -> None:
    with pytest.raises(NilometerError) as caught:
        database([1.0]).sql(f"SELECT * FROM {call}")
    assert message in str(caught.value)


def test_beyond_a_bound_the_error_has_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    many = database([str(n) for n in range(1_001)], "STRING")
    with pytest.raises(ResourceError, match="more than 1,000 different values"):
        rows(many, "SELECT * FROM PERIODS(s, v UP TO 2) [RANGE 20 SECONDS SLIDE 1000 SECONDS]")
    monkeypatch.setattr(patterns_, "MOST_PATTERNS", 100)
    with pytest.raises(ResourceError, match="patterns, and there are more"):
        rows(
            database(list("abcdefgh") * 2, "STRING"),
            "SELECT * FROM PATTERNS(s, v PERIOD 8 CONFIDENCE 0.5) [RANGE 16 SECONDS SLIDE 16 SECONDS]",
        )


def test_nab_scores_none_0_and_perfect_100() -> None:
    readings = pl.DataFrame({"time": list(range(1_000)), "id": ["a"] * 1_000, "value": [0.0] * 1_000})
    labelled = Labelled(readings, {"a": [(300, 349), (700, 749)]})
    at = {"id": ["a", "a"], "time": [300, 700]}
    assert score(readings.clear(), labelled) == 0
    assert score(pl.DataFrame(at), labelled) == pytest.approx(100)
    late = score(pl.DataFrame(at | {"time": [340, 700]}), labelled)
    wrong = score(pl.DataFrame({"id": ["a"] * 3, "time": [300, 600, 700]}), labelled)
    assert 50 < late < 100
    assert math.isclose(wrong, 100 - 100 * 0.11 / 4, abs_tol=0.1)


def test_the_best_threshold_of_nab_is_the_best_of_all() -> None:
    random = np.random.default_rng(4)
    readings = pl.DataFrame(
        {"time": list(range(800)) * 2, "id": ["a"] * 800 + ["b"] * 800, "value": random.normal(0, 1, 1_600)}
    )
    labelled = Labelled(readings, {"a": [(200, 219), (500, 580)], "b": [(650, 699)]})
    for count in (1, 20, 300):
        found = readings.sample(count, seed=count).with_columns(
            pl.Series("score", random.integers(0, 40, count).astype(float))
        )
        each = [(score(found.filter(pl.col("score") >= at), labelled), at) for at in found["score"].unique()]
        best, threshold = best_score(found, labelled)
        assert best == pytest.approx(max(0.0, *(one for one, _ in each), 0.0))
        if best:
            assert {at: one for one, at in each}[threshold] == pytest.approx(best)


def test_the_windowed_gaussian_compares_with_the_readings_before() -> None:
    values = np.random.default_rng(6).normal(50, 3, 6_750)
    readings = pl.DataFrame({"time": range(6_750), "id": ["a"] * 6_750, "value": values})
    scores = windowed_gaussian(Labelled(readings, {"a": [(1, 2)]}))["score"]
    for place, known in ((500, slice(0, 500)), (6_399, slice(0, 6_399)), (6_745, slice(300, 6_700))):
        before = values[known]
        assert scores[place] == pytest.approx(abs(values[place] - before.mean()) / before.std())
