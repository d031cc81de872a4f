"""The customer's own pages: its people and its billing details."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.customers import services
from engagements.customers.forms import BillingForm, InviteForm
from engagements.customers.views import change, invited, people_of
from engagements.page_access import portal_page
from engagements.people import reauthentication
from engagements.people.models import Customer


@portal_page
@require_safe
def own(request: HttpRequest) -> HttpResponse:
    """Open the page of the user's company."""
    customer = access.customers_of(request.user).order_by("name").first()
    if customer is None:
        return redirect("portal")
    return redirect("portal-company", customer.pk)


@portal_page
@require_http_methods(["GET", "HEAD", "POST"])
def company(request: HttpRequest, pk: int) -> HttpResponse:
    """Show people and billing details; POST saves the billing details."""
    customer = access.customer_for(request.user, pk)
    form = BillingForm(request.POST or None, instance=access.customer_for(request.user, pk))
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            services.edit(customer=customer, by=actor(request), **form.cleaned_data)
            messages.success(request, "Billing details saved. New invoices use them.")
            return redirect("portal-company", pk)
    status = UNPROCESSABLE if request.method == "POST" else 200
    return _page(request, customer, form=form, status=status)


@portal_page
@require_POST
def invite(request: HttpRequest, pk: int) -> HttpResponse:
    """Invite a colleague by mail, after a fresh sign-in."""
    customer = access.customer_for(request.user, pk)
    if access.may_sign(request.user, customer):
        reauthentication.require_reauthentication(request)
    form = InviteForm(request.POST, rights=services.grantable(request.user, customer))
    if invited(request, customer, form):
        return redirect("portal-company", pk)
    return _page(request, customer, invitation=form, status=UNPROCESSABLE)


@portal_page
@require_POST
def change_person(request: HttpRequest, pk: int, membership: int) -> HttpResponse:
    """Change or end a colleague's rights, after a fresh sign-in."""
    customer = access.customer_for(request.user, pk)
    row = get_object_or_404(customer.memberships, pk=membership)
    if access.may_sign(request.user, customer):
        reauthentication.require_reauthentication(request)
    change(request, row)
    return redirect("portal-company", pk)


def _page(
    request: HttpRequest,
    customer: Customer,
    *,
    form: BillingForm | None = None,
    invitation: InviteForm | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "customer": customer,
        "others": access.customers_of(request.user).exclude(pk=customer.pk).order_by("name"),
        "form": form or BillingForm(instance=access.customer_for(request.user, customer.pk)),
        "has_errors": form is not None and form.is_bound,
        "can_sign": access.may_sign(request.user, customer),
        **people_of(request, customer, invitation),
    }
    return render(request, "customers/company.html", context, status=status)
