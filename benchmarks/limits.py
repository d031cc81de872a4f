"""The limits of runs on this site."""

from typing import Any

from django.conf import settings

from benchmarks.measuring.limits import Limits


def limits() -> Limits:
    """The limits in force."""
    overrides: dict[str, Any] = getattr(settings, "TWOFOLD_RUN_LIMITS", {})
    return Limits(**overrides)
