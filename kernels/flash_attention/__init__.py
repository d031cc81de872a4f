"""Causal self-attention over whole prompts: the case for which libraries exist."""
