"""Residual sum, RMSNorm and quantisation to FP8 with one scale a token, in one operator."""
