"""Causal sliding-window attention with every stride-th earlier key beside the window."""
