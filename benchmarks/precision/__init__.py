"""Measure the referee's precision on work of known ratio.

See `python -m benchmarks.precision --help`.
"""
