"""An aggregate over a time window as one operator: slices with partial aggregates, combined at each evaluation."""
