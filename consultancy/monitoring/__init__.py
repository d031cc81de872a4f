"""Metrics for Prometheus, and the checks that a worker repeats for them."""
