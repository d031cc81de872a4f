"""Every write to benchmarks, solutions, runs and records."""
