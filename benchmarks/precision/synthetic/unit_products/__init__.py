"""One product, computed as many times over as each side is told."""
