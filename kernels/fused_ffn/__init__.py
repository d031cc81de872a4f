"""The SwiGLU feed-forward network of a transformer layer."""
