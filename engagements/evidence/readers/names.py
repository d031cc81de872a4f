"""Kernel names as their authors wrote them: demangled, in bounded time and length."""

from __future__ import annotations

from functools import lru_cache

from engagements.evidence.readers import limits


@lru_cache(maxsize=10_000)
def demangled(name: str) -> str:
    """Return a C++ name demangled and cut to the longest that is kept; others only cut.

    A hostile name of 200 bytes can spell out to gigabytes, so a name whose text is too long stays
    mangled.
    """
    if not name.startswith("_Z") or len(name) > limits.LONGEST_NAME:
        return name[: limits.LONGEST_NAME]
    # The import takes 0.1 s, and most profilers demangle by themselves.
    import demangle

    bounds = demangle.Limits(max_output=limits.LONGEST_NAME)
    return demangle.demangle(name, language="itanium", limits=bounds)
