"""A small operator inside a larger step, for tricks that replace the step."""
