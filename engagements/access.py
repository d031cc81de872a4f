"""Who may see and do what: the only permission code of the application.

- People of the house have a role. Each of them sees every engagement. *Consultants* do the
  work. *Finance* bills, records payments, approves and pays settlements. *Admins* manage people
  and may do what a consultant may, but move no money: a role that hands out roles must not also
  approve a payment. Being a Django superuser changes none of this.
- People of a customer have a membership. They see their customer's engagements, and in them
  what was made for them. Signatories may also bind the customer.
- Somebody with neither sees nothing. What one may not see does not exist (404); a colleague of
  the house in the wrong role is told so (403).

Services ask the predicates here again, so a view that forgot its decorator changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase

from engagements.models import (
    ContractVersion,
    Customer,
    Document,
    Engagement,
    EngagementRun,
    Entry,
    Invoice,
    Membership,
    PayBack,
    Role,
    Settlement,
    TransferFile,
    User,
)
from engagements.queries.signatories import named_to_accept

Person: TypeAlias = User | AnonymousUser
View: TypeAlias = Callable[..., HttpResponseBase]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_of_the_house(user: Person | None) -> bool:
    """Whether `user` is an active person of the consultancy, in any role."""
    return isinstance(user, User) and user.is_active and user.is_of_the_house


def is_consultant(user: Person | None) -> bool:
    """Whether `user` may do a consultant's work: consultants and admins."""
    return _has_role(user, Role.CONSULTANT, Role.ADMIN)


def is_finance(user: Person | None) -> bool:
    """Whether `user` may move money: the role finance, and nobody else."""
    return _has_role(user, Role.FINANCE)


def is_admin(user: Person | None) -> bool:
    """Whether `user` manages people: admins."""
    return _has_role(user, Role.ADMIN)


def sees_money(user: Person | None) -> bool:
    """Whether `user` may read the pages of finance: finance and admins."""
    return _has_role(user, Role.FINANCE, Role.ADMIN)


def _has_role(user: Person | None, *roles: Role) -> bool:
    return isinstance(user, User) and user.is_active and user.role in roles


def may_sign(user: Person | None, customer: Customer) -> bool:
    """Whether `user` may bind `customer`: an active signatory of it.

    Nobody of the house may, whatever membership they were given: a contract has two sides.
    """
    return (
        isinstance(user, User)
        and user.is_active
        and not user.is_of_the_house
        and Membership.objects.filter(
            user=user, customer=customer, rights=Membership.Rights.SIGNATORY
        ).exists()
    )


def may_accept(user: Person | None, contract: ContractVersion) -> bool:
    """Whether `user` accepts `contract` for its customer: the one who is named to, else any
    signatory."""
    is_named = named_to_accept(contract) in (None, user)
    return is_named and may_sign(user, contract.engagement.customer)


def customers_of(user: Person) -> QuerySet[Customer]:
    """The customers that `user` is a member of."""
    if not isinstance(user, User) or not user.is_active:
        return Customer.objects.none()
    return Customer.objects.filter(memberships__user=user)


def engagements_for(user: Person) -> QuerySet[Engagement]:
    """The engagements that exist for `user`."""
    everything = Engagement.objects.select_related("customer", "lead")
    if is_of_the_house(user):
        return everything
    return everything.filter(customer__in=customers_of(user))


def engagement_for(user: Person, reference: str) -> Engagement:
    """One engagement by its reference. Raises Http404 where `user` may not see it."""
    return _one(engagements_for(user).filter(reference=reference), "engagement")


def contract_for(user: Person, reference: str, number: int | None = None) -> ContractVersion:
    """A version of an engagement's contract, the newest without `number`.

    Customers never see a draft: to them the newest version is the newest sealed one.
    """
    versions = ContractVersion.objects.filter(
        engagement=engagement_for(user, reference)
    ).select_related("engagement__customer", "engagement__lead", "benchmark")
    if not is_of_the_house(user):
        versions = versions.filter(sealed_at__isnull=False)
    if number is not None:
        versions = versions.filter(number=number)
    return _one(versions.order_by("-number"), "contract")


def run_for(user: Person, reference: str, pk: int) -> EngagementRun:
    """A run of an engagement. Customers see acceptance runs; trials are work in progress."""
    runs = EngagementRun.objects.filter(
        engagement=engagement_for(user, reference), pk=pk
    ).select_related(
        "engagement__customer", "run__benchmark", "run__solution", "run__record", "requested_by"
    )
    if not is_of_the_house(user):
        runs = runs.filter(purpose=EngagementRun.Purpose.ACCEPTANCE)
    return _one(runs, "run")


def document_for(user: Person, pk: int) -> Document:
    """A document. Customers see those of their engagements that were issued for them."""
    documents = Document.objects.filter(pk=pk, engagement__in=engagements_for(user))
    if not is_of_the_house(user):
        documents = documents.filter(for_customer=True)
    return _one(documents, "document")


def invoice_for(user: Person, pk: int) -> Invoice:
    """An invoice or credit note. Customers see those of their engagements once they are issued."""
    invoices = Invoice.objects.filter(pk=pk, engagement__in=engagements_for(user)).select_related(
        "engagement__customer", "contract_version", "customer", "corrects"
    )
    if not is_of_the_house(user):
        invoices = invoices.filter(state=Invoice.State.ISSUED)
    return _one(invoices, "invoice")


def customer_for(user: Person, pk: int) -> Customer:
    """A customer: any for people of the house, their own for its members."""
    customers = Customer.objects.all() if is_of_the_house(user) else customers_of(user)
    return _one(customers.filter(pk=pk), "customer")


def settlement_for(user: Person, pk: int) -> Settlement:
    """A settlement, for people of the house. Customers read it in their documents."""
    if not is_of_the_house(user):
        raise Http404("No such settlement.")
    return _one(
        Settlement.objects.filter(pk=pk).select_related(
            "contract_version__engagement__customer", "proposed_by", "approved_by", "paid_by"
        ),
        "settlement",
    )


def entry_for(user: Person, pk: int) -> Entry:
    """An entry of the ledger, for people of the house."""
    require_house(user)
    return _one(
        Entry.objects.filter(pk=pk).select_related("engagement__customer", "document"), "entry"
    )


def pay_back_for(user: Person, pk: int) -> PayBack:
    """An overpayment on its way back, for people of the house."""
    require_house(user)
    wanted = PayBack.objects.filter(pk=pk).select_related("invoice__engagement__customer")
    return _one(wanted, "overpayment")


def transfer_file_for(user: Person, pk: int) -> TransferFile:
    """A file of refunds, for people of the house."""
    require_house(user)
    return _one(TransferFile.objects.filter(pk=pk).select_related("made_by"), "file")


def _one(rows: QuerySet[Any], noun: str) -> Any:
    row = rows.first()
    if row is None:
        raise Http404(f"No such {noun}.")
    return row


def require_house(user: Person) -> None:
    """404 for everybody who is not of the house."""
    if not is_of_the_house(user):
        raise Http404("No such page.")


def require_consultant(user: Person) -> None:
    """404 for customers' people, 403 for people of the house who do no consultant's work."""
    require_house(user)
    if not is_consultant(user):
        raise PermissionDenied("Consultants do this.")


def require_finance(user: Person) -> None:
    """404 for customers' people, 403 for people of the house who are not of finance."""
    require_house(user)
    if not is_finance(user):
        raise PermissionDenied("Finance does this.")


def consultant_page(view: View) -> View:
    """A page of the house: every role reads it, consultants and admins act on it."""
    return _page(view, reads=require_house, acts=require_consultant)


def finance_page(view: View) -> View:
    """A page of finance: finance and admins read it, finance alone acts on it."""

    def reads(user: Person) -> None:
        require_house(user)
        if not sees_money(user):
            raise PermissionDenied("Finance reads this.")

    return _page(view, reads=reads, acts=require_finance)


def portal_page(view: View) -> View:
    """A page for customers' people. People of the house may look at it, not act on it."""

    def reads(user: Person) -> None:
        return None

    def acts(user: Person) -> None:
        if is_of_the_house(user):
            raise PermissionDenied("The customer does this.")

    return _page(view, reads=reads, acts=acts)


def _page(view: View, *, reads: Callable[[Person], None], acts: Callable[[Person], None]) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        (reads if request.method in SAFE_METHODS else acts)(request.user)
        return view(request, *args, **kwargs)

    return guarded
