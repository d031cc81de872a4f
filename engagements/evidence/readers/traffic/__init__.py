"""Shape traffic in CSV, Parquet or JSON lines: a row per call, or per shape with its count."""

from engagements.evidence.readers.traffic.reading import read

__all__ = ["read"]
