"""This gateway as a peer of others: their streams by name, joins among them, and our streams for them."""
