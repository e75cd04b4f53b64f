"""Answers of standing queries -> elsewhere: files, a broker, a database. One sink a file.

    result log ─► commits.py ─► delivery.py ─► sink.py: parquet.py | json_lines.py | mqtt.py | postgresql.py

A sink reads the result log, which every host writes, so it works for all of them, in the same process or another, now or later. The
law: a query never waits for a sink. What could not be delivered is in the result log, and goes out when the sink is back.
"""
