"""The front page for signed-out visitors."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from engagements.catalogue import queries, views

# The operator on the front page: the one of the demonstration's contracts.
SHOWN = "shared_prefix_attention"


def show(request: HttpRequest) -> HttpResponse:
    """Show what Twofold is, with the measurements of one operator, strongest baseline first."""
    page = queries.page(SHOWN)
    shown = [one for one in page.entry.measured if one.holds] if page else []
    pictures = [each for each in views.pictures(queries.sound()) if each["name"] == "ratios"]
    context = {"operator": SHOWN, "page": page, "shown": shown, "pictures": pictures}
    return render(request, "catalogue/front.html", context)
