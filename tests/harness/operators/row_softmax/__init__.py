"""A small operator that the referee's own tests measure."""
