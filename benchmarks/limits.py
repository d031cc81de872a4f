"""How long a run may take, be silent or be unheard of, and how often it is tried."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a run. `settings.TWOFOLD_RUN_LIMITS` overrides any of them by name."""

    # A worker that was not heard of for this long has lost its run.
    lease_s: float = 60.0
    # Several beats fit into a lease, so that one slow statement loses nothing.
    beat_s: float = 10.0
    attempts: int = 3
    # A queued run whose message is older than this is sent again; two messages do no harm.
    resend_after_s: float = 120.0
    # How long a worker waits for another run to leave its device before it gives way.
    device_wait_s: float = 20.0
    run_s: float = 3600.0
    # Longer than the longest quiet phase: setting up and checking one side.
    silence_s: float = 900.0
    progress_every_s: float = 1.0
    line_bytes: int = 64 * 1024
    output_bytes: int = 32 * 1024 * 1024
    record_bytes: int = 64 * 1024 * 1024
    # The harness gets this long to end by itself before it is killed.
    grace_s: float = 5.0


def limits() -> Limits:
    """The limits in force."""
    overrides: dict[str, Any] = getattr(settings, "TWOFOLD_RUN_LIMITS", {})
    return Limits(**overrides)
