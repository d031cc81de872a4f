"""Verdicts from records: statistics, controls and rules. Needs no GPU and no torch."""
