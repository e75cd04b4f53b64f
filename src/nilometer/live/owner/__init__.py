"""The one process that owns a data directory, and its clients.

lock.py         at most one owner a directory; the lock says who and since when
wire.py         frames on the local socket: a JSON header, and rows as Arrow IPC
owner.py        the owner: a station, and a queue of requests that its loop carries out
server.py       accepts clients; a thread for each, which waits where the loop must not
client.py       a client's connection
changes.py      declarations and changes, carried out
control_log.py  their record: what, and at which offsets
statements.py   what a script declares, and how two of them differ
"""
