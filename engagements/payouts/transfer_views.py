"""Pages of SEPA files: preview, make, download."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.integers import wholes
from engagements.common.pages import UNPROCESSABLE
from engagements.engagement.models import Engagement
from engagements.page_access import finance_page
from engagements.payouts import transfer_files
from engagements.payouts.models import TransferFile
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.payouts.queries import open_overpayment_refunds
from engagements.people import bank_accounts, reauthentication
from engagements.people.bank_accounts import BankAccount
from engagements.settlements import queues
from engagements.settlements.models import Settlement
from engagements.settlements.queues import Queue

FILES_SHOWN = 20


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def make(request: HttpRequest) -> HttpResponse:
    """Show the refunds to transfer and the latest files; POST makes the file of those chosen.

    `message` names the file, so that it is made once. Each `account` is the key of a bank account
    on the page: money is sent to no other.
    """
    if request.method != "POST":
        return _page(request)
    chosen = {name: wholes(request.POST.getlist(name)) for name in ("settlement", "overpaid")}
    overpaid = list(OverpaymentRefund.objects.filter(pk__in=chosen["overpaid"]))
    if overpaid:
        # A refund needed a fresh sign-in for its approval; an overpayment needs it here.
        reauthentication.require_reauthentication(request)
    try:
        file = transfer_files.make(
            settlements=list(Settlement.objects.filter(pk__in=chosen["settlement"])),
            overpaid=overpaid,
            message_id=request.POST.get("message", "") or new_message_id(),
            by=actor(request),
            shown=wholes(request.POST.getlist("account")),
        )
    except ApplicationError as error:
        return _page(request, error=error)
    messages.success(request, "The file is created. Its transfers count as sent.")
    return redirect("transfer-file", pk=file.pk)


@dataclass(frozen=True)
class Candidate:
    """A refund to transfer; `name` is its form field: "settlement" or "overpaid".

    `blocking_reason` says why it cannot be sent by file.
    """

    name: str
    row: Settlement | OverpaymentRefund
    engagement: Engagement
    amount: Decimal
    currency: str
    url: str
    account: BankAccount | None
    blocking_reason: str | None
    is_chosen: bool


def _page(request: HttpRequest, *, error: ApplicationError | None = None) -> HttpResponse:
    candidates = [*_settlements(request), *_overpaid(request)]
    ready = [row for row in candidates if row.blocking_reason is None]
    context = {
        "ready": ready,
        "total": sum((row.amount for row in ready), Decimal(0)),
        "not_ready": [row for row in candidates if row.blocking_reason is not None],
        "message": new_message_id(),
        "currency": transfer_files.CURRENCY,
        "error": error,
        "files": TransferFile.objects.defer("content").select_related("made_by")[:FILES_SHOWN],
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if error else 200
    return render(request, "payouts/transfers.html", context, status=status)


def _settlements(request: HttpRequest) -> Iterator[Candidate]:
    for row in queues.found(queue=Queue.TO_PAY):
        engagement = row.contract_version.engagement
        yield Candidate(
            name="settlement",
            row=row,
            engagement=engagement,
            amount=row.refund,
            currency=row.currency,
            url=reverse("settlement", args=[row.pk]),
            account=bank_accounts.current(engagement.customer),
            blocking_reason=transfer_files.blocking_reason(row),
            is_chosen=_is_chosen(request, "settlement", row.pk),
        )


def _overpaid(request: HttpRequest) -> Iterator[Candidate]:
    for row in open_overpayment_refunds().filter(state=OverpaymentRefund.State.PROPOSED):
        engagement = row.invoice.engagement
        yield Candidate(
            name="overpaid",
            row=row,
            engagement=engagement,
            amount=row.amount,
            currency=row.invoice.currency,
            url=reverse("overpayment", args=[row.invoice_id]),
            account=bank_accounts.current(engagement.customer),
            blocking_reason=transfer_files.overpayment_blocking_reason(row, by=actor(request)),
            is_chosen=_is_chosen(request, "overpaid", row.pk),
        )


def _is_chosen(request: HttpRequest, name: str, key: int) -> bool:
    """Whether the address names the row; an address that names none chooses all."""
    chosen = {kind: request.GET.getlist(kind) for kind in ("settlement", "overpaid")}
    return not any(chosen.values()) or str(key) in chosen[name]


def new_message_id() -> str:
    """Return a name for a file: at most 35 characters."""
    return f"TWOFOLD-{uuid4().hex[:20].upper()}"


@finance_page
@require_safe
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """The transfers of a file; `format=xml` downloads its bytes as made."""
    row = access.transfer_file_for(request.user, pk)
    if request.GET.get("format") == "xml":
        response = HttpResponse(bytes(row.content), content_type="application/xml")
        response["Content-Disposition"] = f'attachment; filename="{row.message_id}.xml"'
        return response
    transfers = row.transfers.select_related("settlement__contract_version__engagement__customer")
    overpayments = row.overpayment_refunds.select_related("invoice__engagement", "left")
    context = {
        "file": row,
        "transfers": transfers.order_by("pk"),
        "overpayments": overpayments.order_by("pk"),
    }
    return render(request, "payouts/transfer_file.html", context)
