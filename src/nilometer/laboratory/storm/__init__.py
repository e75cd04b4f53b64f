"""A deterministic simulation of the whole live path, after FoundationDB's: one seed, one process, virtual time.

The product runs unchanged: Station, Roster, stream manager, MQTT adapter, logs, standing queries. The seed
drives the clock, the sensors, a faulty broker, a faulty disk, kills, and changes of declarations. The judge
is the reference evaluator over what was acknowledged.
"""
