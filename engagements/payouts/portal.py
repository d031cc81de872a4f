"""The portal page of a customer's refund account: confirm it, or enter another one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.integers import wholes
from engagements.common.pages import UNPROCESSABLE
from engagements.page_access import portal_page
from engagements.payouts import refund_accounts
from engagements.payouts.refund_account_views import BankAccountForm
from engagements.people import bank_accounts, reauthentication
from engagements.people.models import Customer

FORBIDDEN = 403


@portal_page
@require_http_methods(["GET", "HEAD", "POST"])
def refund_account(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the customer's refund account; POST confirms the one in `account`, or enters another."""
    engagement = access.engagement_for(request.user, reference)
    customer = engagement.customer
    can_sign, status, form = access.may_sign(request.user, customer), 200, BankAccountForm()
    if request.method == "POST":
        status = UNPROCESSABLE if can_sign else FORBIDDEN
        if can_sign:
            reauthentication.require_reauthentication(request)
        if can_sign and "account" in request.POST:
            if _confirm(request, customer):
                return redirect("portal-refund-account", reference=reference)
        elif can_sign:
            form = BankAccountForm(request.POST)
            if form.is_valid() and _enter(request, customer, form):
                return redirect("portal-refund-account", reference=reference)
    account = bank_accounts.current(customer)
    context = {
        "engagement": engagement,
        "account": account,
        "proposed": refund_accounts.proposed(customer),
        "waiting_reason": refund_accounts.blocking_reason(customer) if account else "",
        "form": form,
        "can_sign": can_sign,
    }
    return render(request, "payouts/portal_refund_account.html", context, status=status)


def _confirm(request: HttpRequest, customer: Customer) -> bool:
    [key, *_] = [*wholes(request.POST.getlist("account")), 0]
    account = get_object_or_404(customer.bank_accounts, pk=key)
    try:
        refund_accounts.confirm(account=account, by=actor(request))
    except ApplicationError as error:
        messages.error(request, str(error))
        return False
    messages.success(request, "Account confirmed.")
    return True


def _enter(request: HttpRequest, customer: Customer, form: BankAccountForm) -> bool:
    try:
        refund_accounts.add(customer=customer, by=actor(request), **form.cleaned_data)
    except ApplicationError as error:
        form.add_error(None, str(error))
        return False
    messages.success(request, "Refunds now use this account.")
    return True
