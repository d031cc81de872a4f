"""Nsight Compute's CSV: `ncu --csv --page details` and `--page raw`."""

from engagements.evidence.readers.nsight_compute.reading import read

__all__ = ["read"]
