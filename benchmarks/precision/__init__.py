"""How precise the referee is on this machine, measured on work whose true ratio is known.

`python -m benchmarks.precision --help` says how to measure, and how to measure in parts.
"""
