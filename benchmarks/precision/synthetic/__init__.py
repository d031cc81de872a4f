"""Operators whose true cost is known by construction; for measuring the referee itself."""
