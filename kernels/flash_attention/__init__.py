"""Causal self-attention over whole prompts."""
