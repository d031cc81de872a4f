"""Permissions: who may see and do what. This is the only permission code of the application.

- Staff members have a role, and every role sees every engagement. *Consultants* do the work.
  *Finance* bills, records payments, approves and pays settlements. *Admins* manage users and may
  do a consultant's work, but move no money: granting roles and approving payments stay apart.
  Being a Django superuser changes none of this.
- A customer's people have a membership. They see their customer's engagements, as far as content
  is meant for them. Signatories may also bind the customer.
- A user with neither sees nothing. What a user may not see is 404; a staff member in the wrong
  role gets 403.

Services check the predicates again, so a missing decorator on a view opens nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from django.apps import apps
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Manager, Q, QuerySet
from django.http import Http404, HttpRequest

from benchmarks.models import Benchmark, Record, Solution
from engagements.common.errors import ApplicationError
from engagements.people.models import Customer, Membership, Role, User

if TYPE_CHECKING:
    from engagements.benchmark.models import BenchmarkVersion
    from engagements.billing.models import Invoice
    from engagements.billing.payment_models import Payment
    from engagements.charges.models import Charge
    from engagements.contracts.models import ContractVersion
    from engagements.documents.models import Document
    from engagements.engagement.models import Engagement
    from engagements.ledger.models import Entry
    from engagements.orders.models import AuditOrder
    from engagements.payouts.models import TransferFile
    from engagements.payouts.overpayment_models import OverpaymentRefund
    from engagements.runs.models import EngagementRun
    from engagements.settlements.models import Settlement

Person: TypeAlias = User | AnonymousUser


def is_staff_member(user: Person | None) -> bool:
    """Whether `user` is an active staff member of the consultancy, in any role."""
    return isinstance(user, User) and user.is_active and user.is_staff_member


def is_consultant(user: Person | None) -> bool:
    """Whether `user` may do a consultant's work: consultants and admins."""
    return _has_role(user, Role.CONSULTANT, Role.ADMIN)


def is_finance(user: Person | None) -> bool:
    """Whether `user` may move money: the role finance only."""
    return _has_role(user, Role.FINANCE)


def is_admin(user: Person | None) -> bool:
    """Whether `user` manages users: admins."""
    return _has_role(user, Role.ADMIN)


def sees_money(user: Person | None) -> bool:
    """Whether `user` may read the pages of finance: finance and admins."""
    return _has_role(user, Role.FINANCE, Role.ADMIN)


def _has_role(user: Person | None, *roles: Role) -> bool:
    return isinstance(user, User) and user.is_active and user.role in roles


def may_sign(user: Person | None, customer: Customer) -> bool:
    """Whether `user` may bind `customer`: an active signatory of it.

    Staff members may not, even with a membership: a contract has two sides. Nor
    may a service account: a person signs.
    """
    return (
        isinstance(user, User)
        and user.is_active
        and not user.is_staff_member
        and not user.is_service
        and Membership.objects.filter(
            user=user, customer=customer, rights=Membership.Rights.SIGNATORY
        ).exists()
    )


def is_signatory(user: Person) -> bool:
    """Whether `user` is a signatory of some customer."""
    return isinstance(user, User) and (
        Membership.objects.filter(user=user, rights=Membership.Rights.SIGNATORY).exists()
    )


def is_member(user: Person) -> bool:
    """Whether `user` is an active member of some customer."""
    return customers_of(user).exists()


def may_contribute(user: Person | None, engagement: Engagement) -> bool:
    """Whether `user` may add evidence and answers: consultants and the customer's people."""
    if is_consultant(user):
        return True
    return (
        isinstance(user, User)
        and not user.is_staff_member
        and customers_of(user).filter(pk=engagement.customer_id).exists()
    )


def needs_second_factor(user: Person) -> bool:
    """Whether `user` must sign in with a second factor: finance, admins and signatories."""
    return _has_role(user, Role.FINANCE, Role.ADMIN) or is_signatory(user)


def customers_of(user: Person) -> QuerySet[Customer]:
    """The customers that `user` is a member of."""
    if not isinstance(user, User) or not user.is_active:
        return Customer.objects.none()
    return Customer.objects.filter(memberships__user=user)


def customers_for(user: Person) -> QuerySet[Customer]:
    """The customers that exist for `user`: all for staff, their own for its members."""
    return Customer.objects.all() if is_staff_member(user) else customers_of(user)


def engagements_for(user: Person) -> QuerySet[Engagement]:
    """The engagements that exist for `user`."""
    everything = _rows("Engagement").select_related("customer", "lead")
    if is_staff_member(user):
        return everything
    return everything.filter(customer__in=customers_of(user))


def engagement_for(user: Person, reference: str) -> Engagement:
    """One engagement by its reference. Raises Http404 where `user` may not see it."""
    return _one(engagements_for(user).filter(reference=reference), "engagement")


def contract_for(user: Person, reference: str, number: int | None = None) -> ContractVersion:
    """A version of an engagement's contract, the newest without `number`.

    Customers never see a draft: to them the newest version is the newest sealed one.
    """
    versions = (
        rows_for(user, "ContractVersion")
        .filter(engagement=engagement_for(user, reference))
        .select_related("engagement__customer", "engagement__lead", "benchmark")
    )
    if number is not None:
        versions = versions.filter(number=number)
    return _one(versions.order_by("-number"), "contract")


def audit_order_for(user: Person, reference: str, number: int) -> AuditOrder:
    """An audit order of an engagement."""
    orders = (
        _rows("AuditOrder")
        .filter(engagement=engagement_for(user, reference), number=number)
        .select_related("engagement__customer", "engagement__lead", "offered_by")
    )
    return _one(orders, "audit order")


def benchmark_version_for(user: Person, reference: str, number: int) -> BenchmarkVersion:
    """A version of an engagement's own benchmark."""
    versions = _rows("BenchmarkVersion").filter(
        engagement=engagement_for(user, reference), number=number
    )
    return _one(versions.select_related("engagement__customer", "uploaded_by"), "version")


def run_for(user: Person, reference: str, pk: int) -> EngagementRun:
    """A run of an engagement. Customers see acceptance runs; trials are work in progress."""
    runs = (
        rows_for(user, "EngagementRun")
        .filter(engagement=engagement_for(user, reference), pk=pk)
        .select_related(
            "engagement__customer", "run__benchmark", "run__solution", "run__record", "requested_by"
        )
    )
    return _one(runs, "run")


def document_for(user: Person, pk: int) -> Document:
    """A document. Customers see those of their engagements that were issued for them."""
    return _one(rows_for(user, "Document").filter(pk=pk), "document")


def invoice_for(user: Person, pk: int) -> Invoice:
    """An invoice or credit note. Customers see those of their engagements once they are issued."""
    invoices = (
        rows_for(user, "Invoice")
        .filter(pk=pk)
        .select_related("engagement__customer", "contract_version", "customer", "corrects")
    )
    return _one(invoices, "invoice")


def charge_for(user: Person, pk: int) -> Charge:
    """A charge, for staff."""
    admit_staff(user)
    rows = _rows("Charge").filter(pk=pk)
    return _one(rows.select_related("engagement__customer", "contract_version"), "charge")


def payment_for(user: Person, pk: int) -> Payment:
    """A payment, for staff."""
    admit_staff(user)
    return _one(_rows("Payment").filter(pk=pk).select_related("invoice__engagement"), "payment")


def customer_for(user: Person, pk: int) -> Customer:
    """A customer: any for staff, their own for its members."""
    return _one(customers_for(user).filter(pk=pk), "customer")


def settlement_for(user: Person, pk: int) -> Settlement:
    """A settlement, for staff. Customers read it in their documents."""
    if not is_staff_member(user):
        raise Http404("No such settlement.")
    return _one(
        _rows("Settlement")
        .filter(pk=pk)
        .select_related(
            "contract_version__engagement__customer", "proposed_by", "approved_by", "paid_by"
        ),
        "settlement",
    )


def entry_for(user: Person, pk: int) -> Entry:
    """An entry of the ledger, for staff."""
    rows = rows_for(user, "Entry").filter(pk=pk)
    return _one(rows.select_related("engagement__customer", "document"), "entry")


def overpayment_refund_for(user: Person, pk: int) -> OverpaymentRefund:
    """Return the refund of an overpayment, for staff."""
    admit_staff(user)
    rows = _rows("OverpaymentRefund").filter(pk=pk)
    return _one(rows.select_related("invoice__engagement__customer"), "overpayment")


def transfer_file_for(user: Person, pk: int) -> TransferFile:
    """A transfer file of refunds, for staff."""
    admit_staff(user)
    return _one(_rows("TransferFile").filter(pk=pk).select_related("made_by"), "file")


# The path from a model to its engagement, and the rows of it that customers see; the rest are
# drafts and work in progress. Models without a condition are for staff only.
_VISIBLE: Mapping[str, tuple[str, Q | None]] = {
    "Audit": ("engagement", Q(delivered_at__isnull=False)),
    "Charge": ("engagement", Q(state__in=("approved", "cancelled"))),
    "ContractVersion": ("engagement", Q(sealed_at__isnull=False)),
    "Document": ("engagement", Q(for_customer=True)),
    "EngagementRun": ("engagement", Q(purpose__in=["acceptance", "counterpart"])),
    "Entry": ("engagement", None),
    "Event": ("engagement", Q(for_customer=True)),
    "Evidence": ("engagement", None),
    "Invoice": ("engagement", Q(state="issued")),
    "Milestone": ("contract_version__engagement", Q(contract_version__sealed_at__isnull=False)),
    "Payment": ("invoice__engagement", Q(invoice__state="issued")),
    "Settlement": ("contract_version__engagement", Q(approved_at__isnull=False)),
}


def rows_for(user: Person, model: str) -> QuerySet[Any]:
    """The rows of a model of engagements that exist for `user`.

    Raises Http404 where the model is for staff only and `user` is not a staff member.
    """
    path, shown = _VISIBLE[model]
    if is_staff_member(user):
        return _rows(model).all()
    if shown is None:
        raise Http404("No such page.")
    return _rows(model).filter(shown, **{f"{path}__in": engagements_for(user)})


def benchmarks_for(user: Person) -> QuerySet[Benchmark]:
    """The benchmarks that exist for `user`: all for staff, those of their contracts for members."""
    if is_staff_member(user):
        return Benchmark.objects.all()
    contracts = rows_for(user, "ContractVersion")
    return Benchmark.objects.filter(pk__in=contracts.values("benchmark"))


def candidates_for(user: Person) -> QuerySet[Solution]:
    """The candidates that exist for `user`: all for staff, those of their runs for members."""
    if is_staff_member(user):
        return Solution.objects.all()
    return Solution.objects.filter(pk__in=rows_for(user, "EngagementRun").values("run__solution"))


def records_for(user: Person) -> QuerySet[Record]:
    """The records of the runs that exist for `user`."""
    return Record.objects.filter(run__in=rows_for(user, "EngagementRun").values("run"))


def _rows(model: str) -> Manager[Any]:
    """Return the rows of a model of any domain, by name: access is below all domains."""
    return apps.get_model("engagements", model)._default_manager


def _one(rows: QuerySet[Any], noun: str) -> Any:
    row = rows.first()
    if row is None:
        raise Http404(f"No such {noun}.")
    return row


def admit_staff(user: Person) -> None:
    """Raise 404 for everyone but staff."""
    if not is_staff_member(user):
        raise Http404("No such page.")


def admit_consultant(user: Person) -> None:
    """Raise 404 for customers' people and 403 for staff without a consultant's rights."""
    admit_staff(user)
    if not is_consultant(user):
        raise PermissionDenied("Only consultants may do this.")


def admit_finance(user: Person) -> None:
    """Raise 404 for customers' people and 403 for staff outside finance."""
    admit_staff(user)
    if not is_finance(user):
        raise PermissionDenied("Only finance may do this.")


def actor(request: HttpRequest) -> User:
    """Return the signed-in user; the page decorators admit no other."""
    assert isinstance(request.user, User)
    return request.user


def may_act(request: HttpRequest) -> bool:
    """Whether to show a consultant's buttons."""
    return is_consultant(request.user)


def require_finance(by: User) -> None:
    """Require the role finance; superusers are no exception."""
    if not is_finance(by):
        raise ApplicationError("Only finance may do this.", code="access.finance_only")


def require_consultant(by: User) -> None:
    """Require a consultant or an admin."""
    if not is_consultant(by):
        raise ApplicationError("Only consultants may do this.", code="access.consultants_only")


def require_contributor(engagement: Engagement, by: User) -> None:
    """Require a consultant or one of the customer's people."""
    if not may_contribute(by, engagement):
        raise ApplicationError(
            f"Only consultants and people of {engagement.customer} may do this.",
            code="access.contributors_only",
        )


def require_signatory(engagement: Engagement, by: User) -> None:
    """Require a signatory of the engagement's customer."""
    if not may_sign(by, engagement.customer):
        raise ApplicationError(
            f"Only a signatory of {engagement.customer} may do this.",
            code="access.signatories_only",
        )
