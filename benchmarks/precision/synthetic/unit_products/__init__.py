"""One product, repeated as often as the workload asks of each side."""
