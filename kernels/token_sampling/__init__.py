"""Top-k and top-p sampling of the next token from the vocabulary's logits."""
