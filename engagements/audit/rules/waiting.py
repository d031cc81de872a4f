"""Reasons for GPU idle time, from gap lengths and launch times."""

from __future__ import annotations

from dataclasses import dataclass

from engagements.evidence.readers.facts import TraceFacts

# A launch takes about 5 us; gaps of this length come from a host that launches too slowly.
LAUNCH_GAP_US = 100.0
# Nothing but the host's own work (loading, tokenising, sampling) takes this long.
LONG_GAP_US = 1000.0

LAUNCHES = "the next launch (gaps up to 0.1 ms)"
HOST = "the host (gaps of 0.1 to 1 ms)"
LOADING = "the host's own work, such as data loading (gaps over 1 ms)"
ORDER = "work already launched (pauses between kernels, waits between streams)"


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A share of wall-clock time in which no device was busy, with its reason."""

    reason: str
    share: float


def waits(trace: TraceFacts) -> tuple[Wait, ...]:
    """Return idle time by reason, the longest first; empty when not measured."""
    gaps = trace.gaps
    if gaps is None or trace.wall_ms <= 0:
        return ()
    by_reason = {LAUNCHES: 0.0, HOST: 0.0, LOADING: 0.0}
    for length in gaps.by_length:
        reason = _reason(length.up_to_us)
        by_reason[reason] += length.ms / trace.wall_ms
    bound, idle = gaps.launch_bound_share, gaps.idle_ms / trace.wall_ms
    if bound is not None and idle > 0:
        # Work launched before the gap began did not wait for the host.
        by_reason = {reason: share * min(1, bound / idle) for reason, share in by_reason.items()}
        by_reason[ORDER] = max(0.0, idle - bound)
    found = [Wait(reason=reason, share=share) for reason, share in by_reason.items() if share > 0]
    return tuple(sorted(found, key=lambda wait: -wait.share))


def share_of(trace: TraceFacts, *reasons: str) -> float:
    """Return the share of wall-clock time idle for any of these reasons."""
    return sum(wait.share for wait in waits(trace) if wait.reason in reasons)


def _reason(up_to_us: float | None) -> str:
    if up_to_us is not None and up_to_us <= LAUNCH_GAP_US:
        return LAUNCHES
    return HOST if up_to_us is not None and up_to_us <= LONG_GAP_US else LOADING
