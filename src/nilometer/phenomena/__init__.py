"""Phenomena: groups of neighbouring sensors that read alike, found and followed as readings come.

`candidates` finds, source by source, who has enough alike readings; `track` joins them into phenomena and follows
these. docs/phenomena.md has the law; `plan/reference/functions/phenomena.py` recomputes it at every evaluation.
"""
