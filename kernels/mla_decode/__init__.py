"""Decode attention over DeepSeek's latent cache, in pages, for all heads at once."""
