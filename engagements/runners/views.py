"""The page of runners, for staff and for customers' people."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, errors_shown, show_error
from engagements.people import reauthentication, service_accounts
from engagements.people.forms import OwnerForm
from engagements.people.models import User
from engagements.runners import queries, services


class RunnerForm(OwnerForm):
    """A new runner of the consultancy, or of a customer that the user signs for."""

    name = forms.CharField(max_length=80, help_text="The machine, such as “h200-04”.")


@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """List the runners that the user may see."""
    return _page(request)


@login_required
@require_POST
@reauthentication.with_reauthentication
def register(request: HttpRequest) -> HttpResponse:
    """Register a runner and show its token once. Requires a fresh sign-in."""
    by = _reader(request)
    form = RunnerForm(request.POST, by=by)
    if form.is_valid():
        values = form.cleaned_data
        with errors_shown(request, form):
            _, token = services.register(
                name=values["name"], customer=values.get("customer"), by=by
            )
            return _with_token(request, token)
    return _page(request, form=form, status=UNPROCESSABLE)


@login_required
@require_POST
@reauthentication.with_reauthentication
def renew_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Replace a runner's token and show the new one once. Requires a fresh sign-in."""
    by = actor(request)
    runner = get_object_or_404(services.managed_by(by), pk=pk)
    try:
        token = services.renew_token(runner=runner, by=by)
    except ApplicationError as error:
        show_error(request, error)
        return _page(request, status=UNPROCESSABLE)
    return _with_token(request, token)


@login_required
@require_POST
def retire(request: HttpRequest, pk: int) -> HttpResponse:
    """Retire a runner for good."""
    by = actor(request)
    runner = services.retire(runner=get_object_or_404(services.managed_by(by), pk=pk), by=by)
    messages.success(request, f"The runner “{runner}” was retired. Its records stay valid.")
    return redirect("runners")


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke a runner and its key for good."""
    by = actor(request)
    runner = services.revoke(runner=get_object_or_404(services.managed_by(by), pk=pk), by=by)
    messages.success(
        request, f"The runner “{runner}” was revoked. Its met runs are to be reviewed."
    )
    return redirect("runners")


def _reader(request: HttpRequest) -> User:
    """The user, who is of the staff or of a customer. Raises Http404."""
    by = actor(request)
    if not access.is_staff_member(by) and not access.is_member(by):
        raise Http404("No such page.")
    return by


def _with_token(request: HttpRequest, token: str) -> HttpResponse:
    response = _page(request, token=token)
    response["Cache-Control"] = "no-store"
    return response


def _page(
    request: HttpRequest, *, form: RunnerForm | None = None, token: str = "", status: int = 200
) -> HttpResponse:
    by = _reader(request)
    context = {
        "runners": queries.runners_for(by),
        "form": form or RunnerForm(by=by),
        "may_register": service_accounts.may_create(by),
        "is_staff_member": access.is_staff_member(by),
        "token": token,
        "site": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "runners/runners.html", context, status=status)
