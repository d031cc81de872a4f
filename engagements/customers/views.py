"""Staff pages of customers: the list, a new one, and one with its people."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor, may_act
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, errors_shown, show_error
from engagements.customers import services
from engagements.customers.forms import CustomerForm, InviteForm
from engagements.page_access import consultant_page
from engagements.people.models import Customer, Membership

PER_PAGE = 50


def _count_of(relation: str) -> Subquery:
    """The number of a customer's related rows, counted for the rows of the page alone."""
    counted = Customer.objects.filter(pk=OuterRef("pk")).values(count=Count(relation))
    return Subquery(counted)


@consultant_page
@require_safe
def customer_list(request: HttpRequest) -> HttpResponse:
    """List customers; `q` finds them by name."""
    text = request.GET.get("q", "").strip()
    found = Customer.objects.annotate(
        engagement_count=_count_of("engagements"), people_count=_count_of("memberships")
    )
    if text:
        found = found.filter(name__icontains=text)
    listed = Paginator(found.order_by("name"), PER_PAGE).get_page(request.GET.get("page"))
    context = {"listed": listed, "text": text, "may_act": may_act(request)}
    return render(request, "customers/customers.html", context)


@consultant_page
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Add a customer."""
    form = CustomerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            customer = services.create(by=actor(request), **form.cleaned_data)
            messages.success(request, f"{customer} is added. Invite its signatory next.")
            return redirect("customer", customer.pk)
    status = UNPROCESSABLE if request.method == "POST" else 200
    context = {"form": form, "may_act": may_act(request)}
    return render(request, "customers/new.html", context, status=status)


@consultant_page
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a customer with its people and engagements; POST saves its details."""
    customer = access.customer_for(request.user, pk)
    form = CustomerForm(request.POST or None, instance=access.customer_for(request.user, pk))
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            services.edit(customer=customer, by=actor(request), **form.cleaned_data)
            messages.success(request, "Details saved.")
            return redirect("customer", pk)
    status = UNPROCESSABLE if request.method == "POST" else 200
    return _page(request, customer, form=form, status=status)


@consultant_page
@require_POST
def invite(request: HttpRequest, pk: int) -> HttpResponse:
    """Invite a person of the customer by mail."""
    customer = access.customer_for(request.user, pk)
    form = InviteForm(request.POST, rights=services.grantable(request.user, customer))
    if invited(request, customer, form):
        return redirect("customer", pk)
    return _page(request, customer, invitation=form, status=UNPROCESSABLE)


@consultant_page
@require_POST
def change_person(request: HttpRequest, pk: int, membership: int) -> HttpResponse:
    """Change or end a person's rights at the customer."""
    customer = access.customer_for(request.user, pk)
    change(request, get_object_or_404(customer.memberships, pk=membership))
    return redirect("customer", pk)


def invited(request: HttpRequest, customer: Customer, form: InviteForm) -> bool:
    """Invite the person of a form; False with errors in the form."""
    if not form.is_valid():
        return False
    try:
        row = services.invite(customer=customer, by=actor(request), **form.cleaned_data)
    except APPLICATION_ERRORS as error:
        show_error(request, error, form)
        return False
    messages.success(request, f"{row.user} is invited by mail at {row.user.email}.")
    return True


def change(request: HttpRequest, membership: Membership) -> None:
    """Do what the buttons of a person say: `rights` changes them, without it access ends."""
    rights = request.POST.get("rights", "")
    with errors_shown(request):
        if rights:
            services.change_rights(membership=membership, rights=rights, by=actor(request))
        else:
            services.remove(membership=membership, by=actor(request))
        messages.success(request, "Rights changed." if rights else "Access removed.")


def _page(
    request: HttpRequest,
    customer: Customer,
    *,
    form: CustomerForm | None = None,
    invitation: InviteForm | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "customer": customer,
        "form": form or CustomerForm(instance=access.customer_for(request.user, customer.pk)),
        "engagements": customer.engagements.order_by("-opened_at", "-pk"),
        "may_act": may_act(request),
        "has_errors": form is not None and form.is_bound,
        **people_of(request, customer, invitation),
    }
    return render(request, "customers/customer.html", context, status=status)


def people_of(
    request: HttpRequest, customer: Customer, invitation: InviteForm | None = None
) -> dict[str, object]:
    """The people of a customer, and the form that invites another."""
    return {
        "people": customer.memberships.select_related("user").order_by("user__name", "pk"),
        "invitation": invitation or InviteForm(rights=services.grantable(request.user, customer)),
        "may_invite": services.may_manage_people(request.user, customer),
        "may_grant_signatory": services.may_grant_signatory(request.user, customer),
    }
