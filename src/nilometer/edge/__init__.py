"""Readings -> accepted tuples -> answers: readers of files, the door, and the gateway host.

The law: the door decides alone what joins an answer (garbled, duplicate, late), before any operator sees a tuple, and
it counts what it turns away.
"""
