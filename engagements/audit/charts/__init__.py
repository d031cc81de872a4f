"""Charts of findings, as SVG. The figures of a check import theirs on the first drawing."""
