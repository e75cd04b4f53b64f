"""SIMILAR, the variable-arity join: the readings of other sensors that are like each reading (SNJoin)."""
