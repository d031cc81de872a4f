"""A linear layer with bias and ReLU in one kernel."""
