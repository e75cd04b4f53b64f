"""A simulated radio network and what runs in it: virtual time, seeded randomness, no I/O and no wall
clock."""
