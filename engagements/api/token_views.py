"""The page of tokens and service accounts, for staff and for customers' people."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from engagements.access import actor
from engagements.api.token_forms import ServiceAccountForm, TokenForm
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.people import api_tokens, reauthentication, service_accounts


@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """List the user's tokens, and those of the service accounts that they manage."""
    return _page(request)


@login_required
@require_POST
@reauthentication.with_reauthentication
def create(request: HttpRequest) -> HttpResponse:
    """Create a token and show it once. Requires a fresh sign-in, as it outlives the session."""
    form = TokenForm(request.POST, by=actor(request))
    if form.is_valid():
        values = form.cleaned_data
        try:
            _, value = api_tokens.create(
                owner=values["owner"],
                name=values["name"],
                scopes=values["scopes"],
                days=values["days"],
                by=actor(request),
            )
        except ApplicationError as error:
            form.add_error(None, ValidationError(error.message, code=error.code))
        else:
            response = _page(request, value=value)
            response["Cache-Control"] = "no-store"
            return response
    return _page(request, token_form=form, status=UNPROCESSABLE)


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke a token."""
    by = actor(request)
    token = get_object_or_404(api_tokens.managed_by(by), pk=pk)
    api_tokens.revoke(token=token, by=by)
    messages.success(request, f"The token “{token.name}” was revoked.")
    return redirect("tokens")


@login_required
@require_POST
@reauthentication.with_reauthentication
def create_account(request: HttpRequest) -> HttpResponse:
    """Create a service account."""
    form = ServiceAccountForm(request.POST, by=actor(request))
    if form.is_valid():
        with errors_shown(request, form):
            service_accounts.create(
                name=form.cleaned_data["account_name"],
                customer=form.cleaned_data.get("customer"),
                by=actor(request),
            )
            messages.success(request, "The service account was created. Create a token for it.")
            return redirect("tokens")
    return _page(request, account_form=form, status=UNPROCESSABLE)


@login_required
@require_POST
def close_account(request: HttpRequest, pk: int) -> HttpResponse:
    """Close a service account, which ends its tokens."""
    by = actor(request)
    account = get_object_or_404(service_accounts.managed_by(by), pk=pk)
    service_accounts.close(account=account, by=by)
    messages.success(request, f"The service account “{account.name}” was closed.")
    return redirect("tokens")


def _page(
    request: HttpRequest,
    *,
    token_form: TokenForm | None = None,
    account_form: ServiceAccountForm | None = None,
    value: str = "",
    status: int = 200,
) -> HttpResponse:
    by = actor(request)
    context = {
        "tokens": api_tokens.managed_by(by).filter(owner__runner=None),
        "token_form": token_form or TokenForm(by=by),
        "value": value,
        "may_create_accounts": service_accounts.may_create(by),
        "accounts": service_accounts.managed_by(by)
        .filter(runner=None)
        .prefetch_related("memberships__customer"),
        "account_form": account_form or ServiceAccountForm(by=by),
    }
    return render(request, "api/tokens.html", context, status=status)
