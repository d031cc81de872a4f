"""Context of every page: navigation and banner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from benchmarks.models import Record
from engagements.people.models import Role, User


@dataclass(frozen=True)
class Item:
    """A navigation link. `current` is an aria-current value."""

    label: str
    url: str
    current: str

    @property
    def is_current(self) -> bool:
        """Whether the current page is this link's target or below it."""
        return bool(self.current)


def site(request: HttpRequest) -> dict[str, Any]:
    """Return `navigation` for the user's role, `unread_count` and `banner` (text or None)."""
    user = getattr(request, "user", None)
    return {
        "navigation": [_item(request, *entry) for entry in _entries(user)],
        "unread_count": SimpleLazyObject(lambda: _unread(user)),
        "banner": banner(),
    }


def _unread(user: object) -> str:
    """The number of unread notifications, "99+" from 100 on, or nothing."""
    if not isinstance(user, User):
        return ""
    count = user.notifications.filter(read_at=None)[:100].count()
    return "" if count == 0 else str(count) if count < 100 else "99+"


def _entries(user: object) -> list[tuple[str, str]]:
    catalogue = ("Catalogue", "catalogue")
    if not isinstance(user, User):
        return [catalogue, ("Pitches", "pitch"), ("Verify", "verify")]
    board, finance = ("Board", "board"), ("Finance", "finance")
    by_role: dict[str, list[tuple[str, str]]] = {
        Role.CONSULTANT: [board, catalogue],
        Role.FINANCE: [finance, board, catalogue],
        Role.ADMIN: [board, finance, catalogue],
    }
    return by_role.get(user.role, [("Engagements", "portal"), catalogue])


def _item(request: HttpRequest, label: str, name: str) -> Item:
    url = reverse(name)
    current = ""
    if request.path.startswith(url):
        current = "page" if request.path == url else "true"
    return Item(label=label, url=url, current=current)


def banner() -> str | None:
    """Return the demonstration's notice with its device; None elsewhere."""
    if not getattr(settings, "TWOFOLD_DEMO", False):
        return None
    device = Record.objects.values_list("device_name", flat=True).first()
    measured = f"measured on {device}" if device else "nothing measured yet"
    return f"Demonstration, {measured}. Contracts name their own hardware."
