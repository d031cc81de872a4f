"""Writing a candidate: what a benchmark asks of it, templates, and commands to try it."""
