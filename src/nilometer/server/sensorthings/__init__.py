"""OGC SensorThings 1.1 over the catalog and the logs, at `/v1.1`.

kinds.py         the eight entity types, their properties and links
names.py         ids of entities that come from streams: 'air:pm25:a1'
store.py         the entities that clients make, in .nilometer/sensorthings, durable
latest.py        the last reading of every sensor, kept up to date with the log
model.py         one view of both: which entities there are, and how they are linked
selection.py     which observations are meant; observations.py reads them from the logs
expressions.py   $filter and $orderby: the parser; functions.py what can be called, geometry.py the shapes
evaluate.py      the meaning of an expression, for one entity; columnar.py the same for whole columns
options.py       the query options; paths.py resource paths
answer.py        what a GET finds: filtered, ordered, paged, expanded; writing.py as JSON
changes.py       create, update and delete entities; intake.py observations in
data_array.py    the data array extension; batch.py $batch; mqtt.py the MQTT extension
routes.py        HTTP

The law: it has no data of its own but what SensorThings alone knows (names, descriptions, links). Readings are in the
logs of streams, and go in through their entrance.
"""
