"""Readings from outside -> batches in a stream's log, acknowledged once they are durable.

    adapters   MQTT, HTTP, TCP, replayed files and simulations; commands back to the sensors
    payloads   JSON, SenML and CSV messages -> typed readings
    readers    CSV, JSON-lines and Parquet files, and tables of databases
    manager    one entrance a stream: it counts what is garbled, of the future, double or shed, and appends the rest

The law: what is acknowledged is in the log.
"""
