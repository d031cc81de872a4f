"""Every write to benchmarks, solutions, runs and records: verbs with keyword-only arguments."""
