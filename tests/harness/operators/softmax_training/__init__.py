"""A training step of softmax: its Program's outputs are the result and the gradient."""
