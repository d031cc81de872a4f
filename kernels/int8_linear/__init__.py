"""A linear layer with int8 weights, dequantised inside the matrix product."""
