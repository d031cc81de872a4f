"""SEPA files: what a file would hold, making it, and the file itself."""

from __future__ import annotations

from decimal import Decimal
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from engagements import access
from engagements.errors import Refused
from engagements.models import Settlement
from engagements.queries import settlement_queues
from engagements.queries.settlement_queues import Queue
from engagements.services import bank_accounts, transfer_files
from engagements.views.answers import UNPROCESSABLE, actor


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def make(request: HttpRequest) -> HttpResponse:
    """The settlements that can go out by file, to whom; posted, the file of the chosen ones.

    `message` names the file that was shown: sent twice, it is made once.
    """
    refusal = ""
    if request.method == "POST":
        chosen = [int(text) for text in request.POST.getlist("settlement") if text.isdecimal()]
        try:
            file = transfer_files.make(
                settlements=list(Settlement.objects.filter(pk__in=chosen)),
                message_id=request.POST.get("message", "")[:35] or new_message_id(),
                by=actor(request),
            )
        except Refused as refused:
            refusal = str(refused)
        else:
            messages.success(request, "The file is made. Its transfers count as gone.")
            return redirect("transfer-file", pk=file.pk)
    waiting = list(settlement_queues.found(queue=Queue.TO_PAY))
    asked = request.GET.getlist("settlement")
    ready = [row for row in waiting if transfer_files.obstacle(row) is None]
    context = {
        "ready": [
            (
                row,
                bank_accounts.current(row.contract_version.engagement.customer),
                not asked or str(row.pk) in asked,
            )
            for row in ready
        ],
        "total": sum((row.refund for row in ready), Decimal(0)),
        "not_ready": [(row, transfer_files.obstacle(row)) for row in waiting if row not in ready],
        "message": new_message_id(),
        "currency": transfer_files.CURRENCY,
        "refusal": refusal,
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if refusal else 200
    return render(request, "finance/transfers.html", context, status=status)


def new_message_id() -> str:
    """A name for a file that is about to be shown: 35 characters at most."""
    return f"TWOFOLD-{uuid4().hex[:20].upper()}"


@access.finance_page
@require_safe
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """A file of refunds: what is in it; `format=xml` downloads its bytes as they were made."""
    row = access.transfer_file_for(request.user, pk)
    if request.GET.get("format") == "xml":
        response = HttpResponse(bytes(row.content), content_type="application/xml")
        response["Content-Disposition"] = f'attachment; filename="{row.message_id}.xml"'
        return response
    transfers = row.transfers.select_related("settlement__contract_version__engagement__customer")
    context = {"file": row, "transfers": transfers.order_by("pk")}
    return render(request, "finance/transfer_file.html", context)
