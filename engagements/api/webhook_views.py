"""The page of webhooks, for admins and for customers' signatories."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from engagements.access import actor
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.notifications.events import Topic
from engagements.notifications.webhooks import services as webhooks
from engagements.notifications.webhooks.models import WebhookDelivery
from engagements.people import reauthentication, service_accounts
from engagements.people.forms import OwnerForm
from engagements.people.models import User

SHOWN_DELIVERIES = 50


class WebhookForm(OwnerForm):
    """A new webhook of the consultancy, or of a customer that the user signs for."""

    url = forms.URLField(
        label="URL", max_length=400, assume_scheme="https", help_text="https, on the internet."
    )
    topics = forms.MultipleChoiceField(
        choices=Topic.choices, widget=forms.CheckboxSelectMultiple, initial=Topic.values
    )


@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """List webhooks with their latest deliveries."""
    return _page(request)


@login_required
@require_POST
@reauthentication.with_reauthentication
def create(request: HttpRequest) -> HttpResponse:
    """Add a webhook and show its secret once. Requires a fresh sign-in."""
    form = WebhookForm(request.POST, by=_manager(request))
    if form.is_valid():
        values = form.cleaned_data
        with errors_shown(request, form):
            row = webhooks.create(
                url=values["url"],
                topics=values["topics"],
                customer=values.get("customer"),
                by=actor(request),
            )
            response = _page(request, secret=webhooks.secret_of(row))
            response["Cache-Control"] = "no-store"
            return response
    return _page(request, form=form, status=UNPROCESSABLE)


@login_required
@require_POST
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a webhook."""
    row = get_object_or_404(webhooks.managed_by(actor(request)), pk=pk)
    webhooks.close(endpoint=row, by=actor(request))
    messages.success(request, "The webhook was removed.")
    return redirect("webhooks")


@login_required
@require_POST
def replay(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a message again."""
    own = WebhookDelivery.objects.filter(endpoint__in=webhooks.managed_by(actor(request)))
    with errors_shown(request):
        webhooks.replay(delivery=get_object_or_404(own, pk=pk), by=actor(request))
        messages.success(request, "The message is sent again.")
    return redirect("webhooks")


def _manager(request: HttpRequest) -> User:
    by = actor(request)
    if not service_accounts.may_create(by):
        raise Http404("No such page.")
    return by


def _page(
    request: HttpRequest, *, form: WebhookForm | None = None, secret: str = "", status: int = 200
) -> HttpResponse:
    by = _manager(request)
    endpoints = webhooks.managed_by(by)
    deliveries = WebhookDelivery.objects.filter(endpoint__in=endpoints)
    context = {
        "endpoints": endpoints,
        "deliveries": deliveries.select_related("endpoint", "event__engagement")[:SHOWN_DELIVERIES],
        "form": form or WebhookForm(by=by),
        "secret": secret,
    }
    return render(request, "api/webhooks.html", context, status=status)
