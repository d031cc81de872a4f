"""Shape traffic: CSV, Parquet or JSON lines, one row a call or one a shape with its count."""

from engagements.evidence.readers.traffic.reading import read

__all__ = ["read"]
