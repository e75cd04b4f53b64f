"""What a join with bounded memory gives up, by policy."""
