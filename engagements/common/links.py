"""Whole addresses of pages, for what is read elsewhere: a mail has no request to ask."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse


def to_page(name: str, *arguments: object) -> str:
    """Where a page stands on the site, with its host."""
    address: str = settings.SITE_ADDRESS + reverse(name, args=arguments)
    return address
