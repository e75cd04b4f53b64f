"""Random queries on random networks, compiled, emulated, and listened to: the reference evaluator's answers, on motes, at the gateway, or both."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.engine import Answer
from nilometer.engine.motes import CompileOptions, EmulationOptions, compile_query, emulate, listener
from nilometer.errors import InfeasibleError, ResourceError, UnsupportedError
from nilometer.placement import QualityOfService
from nilometer.plan.reference import same_answer
from nilometer.sensornet.motes.compilation import START
from sensornet.motes.emulated import ask, random_grid

pytestmark = [pytest.mark.motes, pytest.mark.slow]

EXAMPLES = 500 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 12

AGGREGATES = st.sampled_from(
    "AVG(depth),SUM(rain),COUNT(*),MIN(depth),MAX(rain),STDEV(depth),VARIANCE(rain),MEDIAN(depth),COUNT(DISTINCT rain)"
    ",SUM(depth * rain),AVG(temp),MAX(temp),COMPLETENESS()".split(",")
)
EXPRESSIONS = st.sampled_from(
    "depth;rain;depth + rain;temp;depth / 3;depth > rain;id;time;ln(depth + 1);temp * 1.5;abs(depth - rain);depth % 4;temp / depth"
    ";CASE WHEN depth > 5 THEN rain ELSE 0 END".split(";")
)
CONDITIONS = st.sampled_from(
    "depth > 5;rain < 20;depth > rain;id > 2;temp < 1.0;depth % 2 = 0;NOT rain = 3;depth BETWEEN 2 AND 25;ln(depth + 1) > 1".split(
        ";"
    )
)
WINDOWS = st.sampled_from(
    "NOW;RANGE 30 SECONDS;RANGE 20 SECONDS SLIDE 20 SECONDS;RANGE 60 SECONDS SLIDE 30 SECONDS;AT NOW - 10 SECONDS"
    ";RANGE 25 SECONDS;RANGE 5 ROWS;RANGE 4 ROWS SLIDE 3 ROWS;FROM NOW - 30 SECONDS TO NOW - 10 SECONDS"
    ";UNBOUNDED SLIDE 40 SECONDS".split(";")
).map("[{}]".format)


def listed(parts: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    """A select list, each item under a name of its own."""
    some = st.lists(parts, min_size=1, max_size=most, unique=True)
    return some.map(lambda items: ", ".join(f"{item} AS x{at}" for at, item in enumerate(items)))


def where() -> st.SearchStrategy[str]:
    conditions = st.lists(CONDITIONS, max_size=2, unique=True)
    return conditions.map(lambda parts: f" WHERE {' AND '.join(parts)}" if parts else "")


QUERIES = st.one_of(
    st.builds("SELECT {} FROM River {}{}".format, listed(AGGREGATES, 3), WINDOWS, where()),
    st.builds(
        "SELECT {0} AS k, {1} FROM River {2}{3} GROUP BY {0}".format,
        st.sampled_from(("id", "rain", "depth % 3")),
        listed(AGGREGATES.filter(lambda item: item != "COMPLETENESS()"), 2),
        WINDOWS,
        where(),
    ),
    st.builds("SELECT {} FROM River {}{}".format, listed(EXPRESSIONS, 4), WINDOWS, where()),
    st.builds("SELECT {}, LAG(depth) AS y FROM River{}".format, listed(EXPRESSIONS, 2), where()),
    st.builds(
        "SELECT r.depth, h.rain, r.id FROM River {} r, Hilltop {} h WHERE r.rain {} h.rain".format,
        WINDOWS,
        WINDOWS,
        st.sampled_from("<=>"),
    ),
    st.builds("(SELECT id, rain FROM River {0}) UNION (SELECT id, rain FROM Hilltop {0})".format, WINDOWS),
    st.builds(
        "{} SELECT {} FROM River {}".format,
        st.sampled_from(("ISTREAM", "DSTREAM")),
        listed(EXPRESSIONS, 2),
        WINDOWS,
    ),
    st.builds(
        "SELECT MAX(m) AS x FROM (RSTREAM SELECT {} AS m FROM River {}) {}".format,
        AGGREGATES.filter(lambda item: item != "COMPLETENESS()"),
        WINDOWS,
        WINDOWS,
    ),
    st.just("SELECT id, depth FROM River [NOW] WHERE rain IN (SELECT rain FROM Hilltop [NOW])"),
    st.just("SELECT arity FROM SIMILAR(River, rain) [RANGE 30 SECONDS]"),
)


@settings(max_examples=EXAMPLES)
@given(QUERIES, st.integers(0, 1 << 20), st.integers(1, 6), st.sampled_from((0, 0, 0, 2)))
def test_random_queries(text: str, seed: int, beta: int, retries: int) -> None:
    network = replace(random_grid(Random(seed)), retries=retries)
    query, quality = ask(text), QualityOfService.of(buffering_factor=beta)
    with tempfile.TemporaryDirectory() as directory:
        try:
            compilation = compile_query(query, Path(directory), CompileOptions(network, quality))
        except (UnsupportedError, InfeasibleError, ResourceError):
            return  # what is refused, and how, is tested elsewhere
        emulation = emulate(query, compilation, EmulationOptions(periods=3, seed=seed))
    assert emulation.difference is None
    assert emulation.run.sound, [m for m in emulation.run.measured.values() if not m.sound]
    line = emulation.run.measured[compilation.placement.routing.sink].serial
    hearing = listener(query, network, quality, START)
    frames = [rows for at in range(0, len(line), 50) for rows in hearing.hear(line[at : at + 50], START)]
    frames += hearing.close()
    heard = [row for rows in frames for row in Answer(query.schema, rows).rows]
    assert same_answer(list(emulation.answer.rows), heard) is None
