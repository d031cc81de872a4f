"""Operators of known cost, to measure the referee itself."""
