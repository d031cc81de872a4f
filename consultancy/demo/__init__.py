"""The demonstration: two made-up customers, measured on this machine."""
