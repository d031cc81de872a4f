"""Absolute URLs for mails, which have no request."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse


def to_page(name: str, *arguments: object) -> str:
    """Return the absolute URL of a named page."""
    address: str = settings.SITE_ADDRESS + reverse(name, args=arguments)
    return address
