"""Linear layer with 4-bit weights and a scale for every group of 128 (W4A16)."""
