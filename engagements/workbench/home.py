"""The start page: the front page, or for users the pages of their role."""

from __future__ import annotations

from datetime import date, timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from engagements import access
from engagements.catalogue import front
from engagements.contracts.time_box.burn_down import BurnDown
from engagements.contracts.time_box.models import Pause
from engagements.engagement.models import Stage
from engagements.people.models import Role

# Days since the start, days to the end, and pauses from today on.
CLOCKS: tuple[tuple[int, int, list[tuple[int, int]]], ...] = (
    (-5, 46, []),
    (12, 29, []),
    (38, 3, []),
    (50, -9, []),
    (12, 36, [(-2, 4)]),
    (12, 36, [(-9, -5), (10, 11)]),
)


def home(request: HttpRequest) -> HttpResponse:
    """Redirect consultants and admins to the board, finance to finance, customers to the portal.

    Signed out, it is the front page.
    """
    if not request.user.is_authenticated:
        return front.show(request)
    if not access.is_staff_member(request.user):
        return redirect("portal")
    return redirect("finance" if request.user.role == Role.FINANCE else "board")


def styleguide(request: HttpRequest) -> HttpResponse:
    """Show every fragment in every state, for designers. Only with DEBUG."""
    today = date.today()
    clocks = [
        BurnDown(
            starts_on=today - timedelta(days=gone),
            ends_on=today + timedelta(days=left),
            pauses=[_pause(today, *days) for days in pauses],
            today=today,
        )
        for gone, left, pauses in CLOCKS
    ]
    verdicts = [
        ("met", "Met", 2.61, 2.52, 2.70),
        ("missed", "Missed", 1.08, 1.06, 1.10),
        ("inconclusive", "Inconclusive", 2.02, 1.94, 2.11),
        ("running", "Running", 2.31, 1.72, 2.95),
        ("disqualified", "Disqualified", None, None, None),
    ]
    return render(
        request,
        "styleguide.html",
        {"clocks": clocks, "verdicts": verdicts, "stages": Stage.choices},
    )


def _pause(today: date, first: int, last: int) -> Pause:
    """Return a pause between two days, counted from today."""
    return Pause(
        starts_on=today + timedelta(days=first),
        ends_on=today + timedelta(days=last),
        waits_for="the customer",
        reason="The weights come later.",
    )
