"""The page of people of the consultancy, for admins."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engagements.access import actor
from engagements.administration import staff
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.finance import grants
from engagements.page_access import admin_page
from engagements.people import reauthentication
from engagements.people.models import Role, User


class InviteForm(forms.Form):
    """Invite a person of the consultancy."""

    name = forms.CharField(max_length=120, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    email = forms.EmailField(
        label="Email address",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        choices=[choice for choice in Role.choices if choice[0]],
        help_text="Two people of finance confirm the role finance; until then the person is a "
        "consultant.",
    )


class AddressForm(forms.Form):
    """The address of a person of the consultancy."""

    email = forms.EmailField(max_length=254)


@admin_page
@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication.with_reauthentication
def people(request: HttpRequest) -> HttpResponse:
    """List the people of the consultancy; POST invites one."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            user = staff.invite(by=actor(request), **form.cleaned_data)
            messages.success(request, f"{user} is invited by mail at {user.email}.")
            return redirect("staff")
    context = {
        "people": User.objects.exclude(role=Role.NONE)
        .annotate(has_factor=Exists(Authenticator.objects.filter(user=OuterRef("pk"))))
        .order_by("-is_active", "name", "pk"),
        "proposed": {grant.user_id for grant in grants.open_grants()},
        "roles": [choice for choice in Role.choices if choice[0]],
        "form": form,
    }
    status = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "people/staff.html", context, status=status)


@admin_page
@require_POST
@reauthentication.with_reauthentication
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Do what the button of a person says: `role`, `active` (yes, no), `email` or `factor`."""
    user, by = get_object_or_404(User, pk=pk), actor(request)
    try:
        if "role" in request.POST:
            staff.give_role(user=user, role=request.POST["role"], by=by)
            is_proposal = request.POST["role"] == Role.FINANCE
            said = "Two people of finance confirm the role." if is_proposal else "Role changed."
        elif "active" in request.POST:
            staff.set_active(user=user, is_active=request.POST["active"] == "yes", by=by)
            said = "Account changed."
        elif "email" in request.POST:
            form = AddressForm(request.POST)
            if not form.is_valid():
                raise ApplicationError("Enter an email address.", code="staff.address_invalid")
            staff.change_address(user=user, email=form.cleaned_data["email"], by=by)
            said = f"{user} signs in with the new address."
            if user.role == Role.FINANCE:
                said += " Two people of finance confirm the finance role again."
        else:
            staff.remove_second_factor(user=user, by=by)
            said = f"{user} sets up a new second factor at the next sign-in."
    except ApplicationError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, said)
    return redirect("staff")
