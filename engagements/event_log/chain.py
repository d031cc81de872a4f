"""Digests of events and anchors: SHA-256 of RFC 8785 JSON.

    {"schema": "twofold.event/1", "engagement": "TF-2026-0001", "position": 7,
     "previous": "sha256:…", "verb": "contract.offered", "summary": str,
     "actor": 12|null, "actor_name": str, "address": "192.0.2.7"|null,
     "changes": {…}, "for_customer": bool, "happened_at": "2026-09-01T09:30:00.000000+00:00"}

    {"schema": "twofold.anchor/1", "number": 3, "previous": "sha256:…",
     "taken_at": "2026-…", "heads": {"TF-2026-0001": [7, "sha256:…"]}}

The chain of events that belong to no engagement has "finance" as its engagement.

These two forms never change, because old chains are verified with them. A new form gets a new
schema.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import Any

from benchmarks.records.canonical import digest

EVENT, ANCHOR = "twofold.event/1", "twofold.anchor/1"
FINANCE = "finance"


def digest_of_event(event: Any, *, reference: str, position: int | None = None) -> str:
    """Compute the digest of an event of the engagement `reference`, from its columns.

    `position` replaces the event's own. ValueError when its changes are not canonical JSON.
    """
    return digest(
        {
            "schema": EVENT,
            "engagement": reference,
            "position": event.position if position is None else position,
            "previous": event.previous,
            "verb": event.verb,
            "summary": event.summary,
            "actor": event.actor_id,
            "actor_name": event.actor_name,
            "address": _address(event.address),
            "changes": event.changes,
            "for_customer": event.for_customer,
            "happened_at": _moment(event.happened_at),
        }
    )


def digest_of_anchor(anchor: Any) -> str:
    """Compute the digest of an anchor, from its columns."""
    return digest(
        {
            "schema": ANCHOR,
            "number": anchor.number,
            "previous": anchor.previous,
            "taken_at": _moment(anchor.taken_at),
            "heads": anchor.heads,
        }
    )


def _moment(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).isoformat(timespec="microseconds")


def _address(address: str | None) -> str | None:
    # One spelling of an IPv6 address, whichever the database returns.
    return ipaddress.ip_address(address).exploded if address else None
