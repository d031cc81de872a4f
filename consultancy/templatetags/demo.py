"""Template tags of the demonstration, which show nothing elsewhere."""

from __future__ import annotations

from typing import Any

from django import template

from consultancy.demo import people, views

register = template.Library()


@register.inclusion_tag("demo/_people.html", takes_context=True)
def demo_people(context: dict[str, Any]) -> dict[str, Any]:
    """A sign-in button for each person."""
    shown = people.groups() if views.is_enabled() else []
    return {"groups": shown, "csrf_token": context.get("csrf_token")}


@register.inclusion_tag("demo/_links.html", takes_context=True)
def demo_links(context: dict[str, Any]) -> dict[str, Any]:
    """Links to the mails and to the people."""
    return {"is_demo": views.is_enabled(), "user": context.get("user")}
