"""The customer's page of the audit order: read the sealed terms, accept or decline them."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.common.client_ip import current_address
from engagements.common.pages import errors_shown
from engagements.contracts.forms import DeclineContractForm
from engagements.documents.models import Document
from engagements.orders import services as orders
from engagements.orders.forms import AcceptOrderForm
from engagements.orders.models import AuditOrder
from engagements.orders.terms import terms_of
from engagements.page_access import portal_page
from engagements.people import reauthentication
from engagements.people.signatories import signatories_of


@portal_page
@require_safe
def order_page(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the newest audit order."""
    engagement = access.engagement_for(request.user, reference)
    order = engagement.audit_orders.first()
    if order is None:
        raise Http404("No audit order.")
    return _render(request, access.audit_order_for(request.user, reference, order.number))


@portal_page
@require_POST
def accept(request: HttpRequest, reference: str, number: int) -> HttpResponse:
    """Accept the terms that were shown, after a fresh sign-in."""
    order, form = _order(request, reference, number), AcceptOrderForm(request.POST)
    if not access.may_sign(request.user, order.engagement.customer):
        return _render(request, order, status=403)
    reauthentication.require_reauthentication(request)
    if form.is_valid():
        with errors_shown(request, form):
            orders.accept(
                order=order,
                typed_name=form.cleaned_data["typed_name"],
                digest=form.cleaned_data["digest"],
                by=actor(request),
                address=current_address(),
                signed_in_at=reauthentication.signed_in_at(request),
            )
            messages.success(request, "You have accepted the audit order.")
            return redirect("portal-engagement", reference=reference)
    return _render(request, order, accept_form=form, status=422)


@portal_page
@require_POST
def decline(request: HttpRequest, reference: str, number: int) -> HttpResponse:
    """Decline the order, with a reason."""
    order, form = _order(request, reference, number), DeclineContractForm(request.POST)
    if not access.may_sign(request.user, order.engagement.customer):
        return _render(request, order, status=403)
    if form.is_valid():
        with errors_shown(request, form):
            orders.decline(order=order, reason=form.cleaned_data["reason"], by=actor(request))
            messages.success(request, "You have declined the audit order.")
            return redirect("portal-engagement", reference=reference)
    return _render(request, order, decline_form=form, status=422)


def _order(request: HttpRequest, reference: str, number: int) -> AuditOrder:
    return access.audit_order_for(request.user, reference, number)


def _render(
    request: HttpRequest,
    order: AuditOrder,
    *,
    accept_form: AcceptOrderForm | None = None,
    decline_form: DeclineContractForm | None = None,
    status: int = 200,
) -> HttpResponse:
    customer = order.engagement.customer
    subject = f"audit_order:{order.pk}"
    documents = Document.objects.filter(
        kind=Document.Kind.AUDIT_ORDER, subject__in=(subject, f"{subject}:accepted")
    )
    context = {
        "engagement": order.engagement,
        "order": order,
        "terms": terms_of(order),
        "can_sign": access.may_sign(request.user, customer),
        "signatories": signatories_of(customer),
        "accept_form": accept_form or AcceptOrderForm(initial={"digest": order.digest}),
        "decline_form": decline_form or DeclineContractForm(),
        "document": documents.defer("content").order_by("pk").last(),
    }
    return render(request, "orders/portal_order.html", context, status=status)
