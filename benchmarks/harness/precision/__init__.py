"""How precise the referee is on this machine, measured on work whose true ratio is known.

`python -m benchmarks.harness.precision --help` says how to measure, and how to measure in parts.
"""
