"""Causal attention under a mask of blocks that is data: some blocks of keys are left out."""
