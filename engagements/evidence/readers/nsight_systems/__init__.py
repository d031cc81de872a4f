"""Nsight Systems reports exported to SQLite (`nsys export --type sqlite`)."""

from engagements.evidence.readers.nsight_systems.reading import record

__all__ = ["record"]
