"""A simulated radio network and the programs that run in it: virtual time, seeded randomness, no I/O and no
wall clock."""
