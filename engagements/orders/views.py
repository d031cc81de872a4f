"""The consultant's page of the audit order: offer and withdraw it."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.documents.models import Document
from engagements.engagement.models import Stage
from engagements.orders import services as orders
from engagements.orders.forms import OfferOrderForm, WithdrawOrderForm
from engagements.orders.models import AuditOrder
from engagements.page_access import consultant_page

DAYS_OPEN = timedelta(days=14)


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """The audit orders of an engagement."""
    return _render(request, reference)


@consultant_page
@require_POST
def offer(request: HttpRequest, reference: str) -> HttpResponse:
    """Seal an order and offer it to the customer."""
    engagement, form = access.engagement_for(request.user, reference), OfferOrderForm(request.POST)
    if form.is_valid():
        with errors_shown(request, form):
            orders.offer(engagement=engagement, **form.cleaned_data, by=actor(request))
            messages.success(request, "The audit order was sealed and offered.")
            return redirect("audit-order", reference=reference)
    return _render(request, reference, offer_form=form)


@consultant_page
@require_POST
def withdraw(request: HttpRequest, reference: str, number: int) -> HttpResponse:
    """Withdraw the order on offer."""
    order = access.audit_order_for(request.user, reference, number)
    form = WithdrawOrderForm(request.POST)
    if form.is_valid():
        with errors_shown(request, form):
            orders.withdraw(order=order, reason=form.cleaned_data["reason"], by=actor(request))
            messages.success(request, "The audit order was withdrawn.")
            return redirect("audit-order", reference=reference)
    return _render(request, reference, withdraw_form=form)


def _render(
    request: HttpRequest,
    reference: str,
    *,
    offer_form: OfferOrderForm | None = None,
    withdraw_form: WithdrawOrderForm | None = None,
) -> HttpResponse:
    engagement = access.engagement_for(request.user, reference)
    rows = list(engagement.audit_orders.all())
    live = orders.live_order(engagement)
    subjects = [f"audit_order:{row.pk}{act}" for row in rows for act in ("", ":accepted")]
    context = {
        "engagement": engagement,
        "audit": getattr(engagement, "audit", None),
        "orders": rows,
        "live": live,
        "documents": Document.objects.filter(
            kind=Document.Kind.AUDIT_ORDER, subject__in=subjects
        ).defer("content"),
        "can_offer": live is None and engagement.stage == Stage.AUDITING,
        "can_withdraw": live is not None and live.state == AuditOrder.State.OFFERED,
        "may_act": access.may_act(request),
        "offer_form": offer_form
        or OfferOrderForm(initial={"valid_until": timezone.localdate() + DAYS_OPEN}),
        "withdraw_form": withdraw_form or WithdrawOrderForm(),
    }
    status = UNPROCESSABLE if offer_form or withdraw_form else 200
    return render(request, "orders/order.html", context, status=status)
