"""The words of a contract, as its document has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.inclusion_tag("contracts/document/_body.html")
def contract_words(words: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `engagements.contracts.document.words` found, as the document says it."""
    return words
