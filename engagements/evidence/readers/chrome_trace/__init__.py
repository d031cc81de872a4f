"""Chrome JSON as the PyTorch profiler (kineto) writes it, also compressed with gzip."""

from engagements.evidence.readers.chrome_trace.reading import record

__all__ = ["record"]
