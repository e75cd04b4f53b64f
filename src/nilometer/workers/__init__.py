"""Runs the code of users in processes of its own, under limits of time and memory.

settings.py  what nilometer.toml says in [python]: where modules are, which ones HTTP may name, the limits
child.py     the program of a worker process: it needs numpy, and nothing of ours
worker.py    one worker process, and what becomes of it when its code fails, hangs or grows
functions.py columns -> a column, by a function of the user's
units.py     rows -> rows, by a unit of the user's, which has a state; unit_child.py is its program

The law: a process that runs queries never imports a user's module. Code that raises, hangs, crashes or grows ends its
worker at most.
"""
