"""Where a customer's refunds go."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE
from engagements.payouts import refund_accounts
from engagements.payouts.refund_account_forms import BankAccountForm
from engagements.people import reauthentication


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication.with_reauthentication
def bank_account(request: HttpRequest, pk: int) -> HttpResponse:
    """The account that counts, those before it, and writing down a new one.

    Where money goes is changed by somebody who has just proved who they are.
    """
    customer = access.customer_for(request.user, pk)
    form = BankAccountForm(request.POST or None, initial={"holder": customer.name})
    if request.method == "POST" and form.is_valid():
        try:
            refund_accounts.add(customer=customer, by=actor(request), **form.cleaned_data)
        except ApplicationError as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, f"Refunds of {customer} go to this account from now on.")
            return redirect("bank-account", pk=pk)
    context = {
        "customer": customer,
        "accounts": customer.bank_accounts.select_related("added_by"),
        "form": form,
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "payouts/refund_account.html", context, status=status)
