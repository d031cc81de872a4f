"""The referee: measures a candidate against the baseline of a sealed benchmark."""
