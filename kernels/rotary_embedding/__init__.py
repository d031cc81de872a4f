"""Rotary position embedding of queries and keys, as Llama turns them."""
