"""The notification centre, and the settings of notifications."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.common.pages import UNPROCESSABLE
from engagements.notifications import preferences
from engagements.notifications.events import event_type
from engagements.notifications.forms import PreferencesForm
from engagements.notifications.models import Notification
from engagements.people.models import User

PER_PAGE = 50


def visible_to(person: User) -> QuerySet[Notification]:
    """The notifications of `person` about engagements that they may still see."""
    return Notification.objects.filter(
        person=person, event__engagement__in=access.engagements_for(person)
    )


@login_required
@require_safe
def centre(request: HttpRequest) -> HttpResponse:
    """List the user's notifications, newest first; `unread=yes` leaves the read ones out."""
    rows = visible_to(actor(request)).select_related("event__engagement__customer")
    only_unread = request.GET.get("unread") == "yes"
    if only_unread:
        rows = rows.filter(read_at=None)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "only_unread": only_unread,
        "rows": [{"row": row, "title": event_type(row.event.verb).title} for row in page],
        "has_unread": visible_to(actor(request)).filter(read_at=None).exists(),
    }
    return render(request, "notifications/centre.html", context)


@login_required
@require_POST
def open_one(request: HttpRequest, pk: int) -> HttpResponse:
    """Mark a notification as read and open its page."""
    row = visible_to(actor(request)).filter(pk=pk).first()
    if row is None:
        raise Http404("No such notification.")
    if row.read_at is None:
        row.read_at = timezone.now()
        row.save(update_fields=["read_at"])
    return redirect(row.path)


@login_required
@require_POST
def read_all(request: HttpRequest) -> HttpResponse:
    """Mark every notification of the user as read."""
    visible_to(actor(request)).filter(read_at=None).update(read_at=timezone.now())
    return redirect("notifications")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: HttpRequest) -> HttpResponse:
    """Show and store the channel of each topic."""
    person = actor(request)
    initial: dict[str, Any] = {str(key): value for key, value in preferences.chosen(person).items()}
    form = PreferencesForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        preferences.choose(person=person, channels=form.channels())
        messages.success(request, "Notification settings saved.")
        return redirect("notification-settings")
    status = UNPROCESSABLE if request.method == "POST" else 200
    context = {"form": form, "is_signatory": access.is_signatory(person)}
    return render(request, "notifications/settings.html", context, status=status)
