"""The sum of two vectors: the smallest kernel, and the one to copy."""
