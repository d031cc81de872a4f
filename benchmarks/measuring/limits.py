"""Limits of a run: time, silence, output, lease and attempts."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a run. The site's `settings.TWOFOLD_RUN_LIMITS` overrides any by name."""

    # Without a heartbeat for this long, the run is lost.
    lease_s: float = 60.0
    # Several heartbeats fit into a lease, so that one slow statement does no harm.
    beat_s: float = 10.0
    attempts: int = 3
    # A queued run whose message is older is enqueued again; duplicates do no harm.
    resend_after_s: float = 120.0
    # How long a run waits for the runners of a customer.
    unclaimed_s: float = 7 * 24 * 3600.0
    # How long a worker waits for a busy device before it postpones its run.
    device_wait_s: float = 20.0
    run_s: float = 3600.0
    # Longer than setting up and checking one side, which reports nothing.
    silence_s: float = 900.0
    progress_every_s: float = 1.0
    line_bytes: int = 64 * 1024
    output_bytes: int = 32 * 1024 * 1024
    record_bytes: int = 64 * 1024 * 1024
    # From SIGTERM to SIGKILL.
    grace_s: float = 5.0
