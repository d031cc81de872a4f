"""Decode attention for many sequences that share one long prompt."""
