"""System checks of the project's settings."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def check_demo_is_not_in_production(**kwargs: Any) -> list[CheckMessage]:
    """An error where production would sign in anyone who presses a button."""
    if not (settings.PRODUCTION and settings.TWOFOLD_DEMO):
        return []
    return [
        Error(
            "TWOFOLD_DEMO is set in production, where it would let anyone sign in as anybody.",
            hint="Unset TWOFOLD_DEMO.",
            id="consultancy.E001",
        )
    ]
