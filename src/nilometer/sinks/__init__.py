"""Delivers the answers of standing queries to files, a broker or a database. One sink per file.

    result log ─► commits.py ─► delivery.py ─► sink.py: parquet.py | json_lines.py | mqtt.py | postgresql.py

A sink reads the result log, which every host writes. So it works for every host, in the same process or
another, now or later. The law: a query never waits for a sink. Answers that could not be delivered stay in
the result log, and are delivered when the sink is back.
"""
