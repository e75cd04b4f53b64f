"""Load shedding in a join with bounded memory: the policies decide which tuples are given up."""
