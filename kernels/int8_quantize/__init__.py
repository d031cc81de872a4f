"""Dynamic quantisation of activations to int8, one scale a token."""
