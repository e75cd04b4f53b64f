"""Aggregates of sessions, from partials: a package of its own, because each kind of aggregate has its own partials."""
