"""Context of every page: navigation and banner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

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
        "navigation": _navigation(request, _entries(user)),
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
    customers = ("Customers", "customers")
    by_role: dict[str, list[tuple[str, str]]] = {
        Role.CONSULTANT: [board, customers, catalogue],
        Role.FINANCE: [finance, board, customers, catalogue],
        Role.ADMIN: [board, finance, customers, catalogue],
    }
    return by_role.get(
        user.role,
        [
            ("Engagements", "portal"),
            ("Invoices", "portal-all-invoices"),
            ("Company", "portal-own-company"),
            catalogue,
        ],
    )


def _navigation(request: HttpRequest, entries: list[tuple[str, str]]) -> list[Item]:
    """The links; the one with the longest address that begins the page's is current."""
    urls = [(label, reverse(name)) for label, name in entries]
    above = max((url for _, url in urls if request.path.startswith(url)), key=len, default="")
    current = "page" if request.path == above else "true"
    return [Item(label, url, current if url == above else "") for label, url in urls]


def banner() -> str | None:
    """Return the demonstration's notice; None elsewhere."""
    if not getattr(settings, "TWOFOLD_DEMO", False):
        return None
    return "Demonstration: customers and contracts are made up, measurements are real."
