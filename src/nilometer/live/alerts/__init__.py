"""Alerts: a standing query's answers become incidents, and incidents become messages to people.

    result log ─► watch.py: incidents.py (who fires, who is resolved) ─► alert_log.py, durable ─► alerting.py ─► transports.py

The laws: a firing is decided once. The decision is a durable record, together with the place in the result log up to
which answers were judged, before anybody is told. A message is delivered at least once, with an id that stays the
same, so that a receiver can drop the second one.
"""
