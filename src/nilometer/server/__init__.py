"""The HTTP server: a client of the directory's owner that speaks to browsers, tools and other programs.

http_server.py   uvicorn in a thread beside the station's loop
application.py   the FastAPI application: routes, guard, problems
guard.py         who may do what: hosts, origins, tokens, sizes and times
tokens.py        the tokens of a data directory, hashed
confinement.py   which files and hosts a user of HTTP may name
desk.py          how routes reach the owner, the declarations and the logs
tails.py         the answers of standing queries, read once for all subscribers
encoding.py      rows as JSON, CSV and Arrow
problems.py      errors as RFC 9457 problem+json
routes/          one resource a file

The law: it has no logic of its own. Only the station's loop touches the station.
"""
