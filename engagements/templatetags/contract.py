"""Render the body of a contract's document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.inclusion_tag("contracts/document/_body.html")
def contract_body(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Render the context of `engagements.contracts.document.body_context`."""
    return body
