"""Linear layer with FP8 activations and FP8 weights in blocks of 128 by 128, as in DeepSeek-V3."""
