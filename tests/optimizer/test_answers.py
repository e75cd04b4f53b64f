"""Queries of every kind: the optimized plan, logical and physical, has the answer of the bound one."""

from __future__ import annotations

from random import Random

import pytest

from nilometer.language import parse
from nilometer.optimizer import PROFILES, OptimizerContext, optimize
from nilometer.plan import logical
from nilometer.plan.bind import bind
from nilometer.plan.explain import explain_text, parse_physical_plan, parse_plan
from nilometer.plan.reference import evaluate, same_answer
from optimizer.as_logical import as_logical
from optimizer.plan_specs import catalog_of
from optimizer.random_feeds import random_feeds, random_tables

CATALOG = catalog_of(
    """
    CREATE STREAM river (rain INT, depth INT) SENSED EVERY 1 MINUTE;
    CREATE STREAM hilltop (rain INT) SENSED EVERY 1 MINUTE;
    CREATE STREAM air (pm25 FLOAT, note STRING) PUSHED DELAY 30 SECONDS;
    CREATE TABLE sites (id INT, name STRING, height FLOAT) STORED AT 'sites.csv';
    CREATE SENSOR 5 OF river AT (10.0, 0.0) WITH kind = 'gauge', level = 3;
    CREATE SENSOR 6 OF river AT (20.0, 0.0) WITH kind = 'gauge';
    CREATE SENSOR 7 OF river AT (90.0, 0.0) WITH kind = 'buoy', level = 1;
    CREATE SENSOR 4 OF hilltop;
    """
)

QUERIES = """
SELECT * FROM river WHERE depth > 5
SELECT r.time, h.rain, r.depth FROM river [NOW] r, hilltop [AT NOW - 1 MINUTE] h WHERE h.rain > 5 AND r.rain < h.rain
SELECT avg(depth) FROM river [RANGE 3 MINUTES SLIDE 1 MINUTE] WHERE kind = 'gauge' AND rain > 1
SELECT id, avg(depth) a, count(*) FROM river [RANGE 3 MINUTES] WHERE distance(location, POINT(0, 0)) < 50 GROUP BY id HAVING avg(depth) > 2
SELECT r1.id, r1.depth FROM river [NOW] r1, (SELECT avg(r2.depth) AS mean FROM river [NOW - 10 MINUTES] r2) w WHERE r1.depth > w.mean
SELECT a.pm25, b.pm25 FROM air a, air b WINDOW = 1 MINUTE WHERE a.id = b.id AND a.pm25 > 5
SELECT time, depth FROM river WHERE id IN (SELECT id FROM sites WHERE height > 2)
SELECT time, depth FROM river WHERE id NOT IN (SELECT id FROM sites WHERE height > 2)
SELECT id, delta(depth) d, lag(rain, 2) FROM river WHERE rain > 1
SELECT r.depth, s.name FROM river [NOW] r, sites s WHERE r.id = s.id AND s.height > 1.5 AND r.depth > 2
SELECT r.depth, h.rain FROM river r ASOF JOIN hilltop h ON r.id = h.id WITHIN 2 MINUTES WHERE r.depth > 3 AND h.rain > 1
ISTREAM SELECT id, depth FROM river [RANGE 2 MINUTES] WHERE depth > 3
DSTREAM SELECT note FROM air [RANGE 2 MINUTES] WHERE pm25 > 3
SELECT id, state FROM SILENT(river FOR 2 MINUTES) WHERE state = 'silent'
SELECT * FROM SIMILAR(air, pm25 WITHIN 1) [RANGE 2 MINUTES] WHERE arity > 1
SELECT id FROM river WHERE depth > 3 UNION SELECT id FROM hilltop WHERE rain > 3
SELECT id, depth FROM river [NOW] WHERE depth > 3 UNION SELECT id, pm25 FROM air [NOW] WHERE pm25 > 3
SELECT count(*) n, completeness() c FROM river [RANGE 5 MINUTES SLIDE 1 MINUTE] WHERE depth > 3
SELECT id, completeness() c FROM river [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY id
SELECT count(*) FROM (SELECT id, depth FROM river WHERE depth > 1) [RANGE 3 MINUTES] q WHERE q.depth < 9
SELECT median(depth), count(DISTINCT id) FROM river [RANGE 5 ROWS SLIDE 2 ROWS] WHERE rain > 1
SELECT time, CASE WHEN depth > 5 THEN 'high' ELSE 'low' END c FROM river [NOW] WHERE time > now - 2 MINUTES AND rain BETWEEN 1 AND 1 + 7
SELECT a.id FROM air [RANGE 2 MINUTES] a, air [RANGE 1 MINUTE] b, river [NOW] r WHERE a.id = b.id AND a.id = r.id AND b.pm25 > 2 AND a.note = 'gauge'
SELECT id, depth FROM river WHERE depth > 3 SAMPLE EVERY 2 MINUTES
SELECT sum(q.n) FROM (RSTREAM SELECT count(*) n FROM air [NOW] WHERE pm25 > 3) [RANGE 2 MINUTES] q WHERE q.n > 0
SELECT tick, count(*) FROM air [RANGE 1 MINUTE] WHERE note LIKE 'g%'
SELECT s.name, count(*) FROM sites s, river [RANGE 5 MINUTES SLIDE 2 MINUTES] r WHERE s.id = r.id GROUP BY s.name
SELECT note, avg(pm25) FROM air [NOW] WHERE pm25 > 3 AND 1 = 1 GROUP BY note
""".strip().splitlines()


@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_stays(query: str):
    bound = bind(parse(query), CATALOG, text=query)
    plans: list[logical.Node] = []
    for profile in PROFILES:
        optimized = optimize(bound, OptimizerContext(CATALOG), profile)
        plans += [plan for plan in (optimized.plan, as_logical(optimized.physical)) if plan not in plans]
    sensors = {stream.name.lower(): CATALOG.sensors(stream.name) for stream in CATALOG.streams()}
    for seed in range(6):
        random = Random(f"{query} {seed}")
        feeds, tables = random_feeds(CATALOG, random), random_tables(CATALOG, random)
        expected = evaluate(bound, feeds, tables, sensors, finished=seed % 3 > 0)
        for plan in plans:
            given = evaluate(plan, feeds, tables, sensors, finished=seed % 3 > 0)
            assert same_answer(expected, given) is None, explain_text(plan)


@pytest.mark.parametrize("query", QUERIES)
def test_every_plan_on_the_way_reads_back(query: str):
    bound = bind(parse(query), CATALOG, text=query)
    assert parse_plan(explain_text(bound), CATALOG) == bound
    for step in optimize(bound, OptimizerContext(CATALOG)).trace:
        read = parse_plan if isinstance(step.plan, logical.Node) else parse_physical_plan
        assert read(explain_text(step.plan), CATALOG) == step.plan, step.rule
