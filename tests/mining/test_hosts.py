"""Every mining function, over random sensors: the naive twin, the gateway and restarted buckets agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings

from mining.hosts import agree, readings

UNSHRUNK = (Phase.explicit, Phase.generate)
"""A counter-example is short anyway, and every attempt to shrink it runs six hosts."""

QUERIES = (
    "SELECT * FROM PERIODS(s, x UP TO 4 CONFIDENCE 0.5) [RANGE 12 SECONDS SLIDE 2 SECONDS]",
    "SELECT * FROM PERIODS(s, x UP TO 9 CONFIDENCE 0 ALL FILL 2) [RANGE 7 SECONDS SLIDE 1 SECOND]",
    "SELECT * FROM PERIODS(s, v LEVELS 2 BETWEEN 0 AND 3 UP TO 4 EVERY 2 SECONDS) [RANGE 15 SECONDS SLIDE 1500 MILLISECONDS]",
    "SELECT * FROM PERIODS(m, v BREAKS (1, 2) UP TO 5 SEGMENTS CONFIDENCE 0.3 FILL 1) [RANGE 20 SECONDS SLIDE 3 SECONDS]",
    "SELECT * FROM PERIODS(s, n UP TO 6 SEGMENTS PEAKS CONFIDENCE 0.2) [RANGE 14 SECONDS SLIDE 1 SECOND]",
    "SELECT * FROM OUTLIERS(s, v AFTER 2 DEVIATIONS 1) [RANGE 6 SECONDS]",
    "SELECT * FROM DISCORDS(s, v LENGTH 3 FILL 1) [RANGE 9 SECONDS]",
    "SELECT * FROM DISCORDS(m, n LENGTH 2 RAW) [RANGE 6 SECONDS]",
    "SELECT * FROM DISCORDS(s, n LENGTH 2 TOP 2 FILL 1) [RANGE 9 SECONDS SLIDE 2 SECONDS]",
    "SELECT * FROM MOTIFS(s, n LENGTH 3 TOP 2 FILL 2) [RANGE 12 SECONDS SLIDE 1 SECOND]",
    "SELECT * FROM MOTIFS(s, v LENGTH 2 RAW EVERY 2 SECONDS) [RANGE 13 SECONDS SLIDE 3 SECONDS]",
    "SELECT * FROM PATTERNS(s, x PERIOD 3 CONFIDENCE 0.3) [RANGE 14 SECONDS SLIDE 2 SECONDS]",
    "SELECT * FROM PATTERNS(s, n PERIOD 4 CONFIDENCE 0.2 MAXIMAL FILL 1 MOST LETTERS 3) [UNBOUNDED SLIDE 3 SECONDS]",
    "SELECT * FROM PATTERNS(m, v LEVELS 12 BETWEEN 0 AND 3 PERIOD 2 CONFIDENCE 0.1 ACROSS SOURCES) [RANGE 12 SECONDS SLIDE 3 SECONDS]",
    "SELECT * FROM SIMILAR_TO(s, v, (1, 2, 1) WITHIN 1.8 FILL 1)",
    "SELECT * FROM SIMILAR_TO(m, n, (0, 1) WITHIN 1 RAW)",
    "SELECT * FROM SIMILAR_TO(s, n, (0, 1, 2) NEAREST 2 FILL 1) [RANGE 9 SECONDS SLIDE 2 SECONDS]",
    "SELECT * FROM SIMILAR_TO(s, v, ('up' (0, 1), 'top' (0, 1, 0), 'far' (2, 0, 1, 2)) WITHIN 2 FILL 1)",
    "SELECT * FROM SIMILAR_TO(s, n, ('b' (0, 1, 2), 'a' (2, 0)) NEAREST 2) [RANGE 9 SECONDS SLIDE 2 SECONDS]",
    "SELECT * FROM CLUSTERS(s, n, v RADIUS 0.7 MOST 3 HALF LIFE 4 SECONDS)",
    "SELECT * FROM CLUSTERS(s, n RADIUS 0.6 CENTRES) [UNBOUNDED SLIDE 2 SECONDS]",
    "SELECT cluster, weight, radius FROM CLUSTERS(s, n, v RADIUS 1 CENTRES MOST 4) [UNBOUNDED SLIDE 4 SECONDS]",
    'SELECT cluster, "group" FROM CLUSTERS(s, n, v RADIUS 0.1 CENTRES GROUPS 2) [UNBOUNDED SLIDE 5 SECONDS]',
    "SELECT * FROM CLUSTERS(s, p, v RADIUS 0.7 PROJECT 3)",
    "SELECT * FROM SUBSEQUENCES(s, x LENGTH 1 TO 3 SUPPORT 2 FILL 1) [RANGE 8 SECONDS SLIDE 2 SECONDS]",
    "SELECT * FROM SUBSEQUENCES(m, v LEVELS 12 BETWEEN 0 AND 3 LENGTH 2 TO 2 GAPS 1) [RANGE 9 SECONDS SLIDE 3 SECONDS]",
    "SELECT * FROM SUBSEQUENCES(s, x LENGTH 1 TO 2 SUPPORT 7 APPROXIMATE 6) [RANGE 8 SECONDS SLIDE 2 SECONDS]",
    "SELECT * FROM SUBSEQUENCES(m, n LENGTH 1 TO 2 SUPPORT ALL APPROXIMATE 5 GAPS 1) [RANGE 9 SECONDS SLIDE 1 SECOND]",
    "SELECT * FROM SUBSEQUENCES(s, n LENGTH 1 TO 2 SUPPORT PERCENT 60) [RANGE 6 SECONDS SLIDE 1 SECOND]",
    "SELECT * FROM OUTLIERS(m, n AFTER 3 DEVIATIONS 0.5) [RANGE 30 SECONDS]",
)


def check(text: str, examples: int) -> int:
    """How many rows all hosts agree on."""
    found = 0

    @settings(max_examples=examples, deadline=None, phases=UNSHRUNK)
    @given(readings())
    def run(rows: list[dict[str, Any]]) -> None:
        nonlocal found
        found += len(agree(text, rows))

    run()
    return found


@pytest.mark.parametrize("text", QUERIES)
def test_all_hosts_agree(text: str) -> None:
    check(text, 2)


@pytest.mark.long
@pytest.mark.parametrize("text", QUERIES)
def test_all_hosts_agree_on_more(text: str) -> None:
    assert check(text, 40), "a query that finds nothing shows nothing"
