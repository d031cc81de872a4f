"""The contract by mail: as offered to those who may sign it, as accepted to both parties."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Value
from django.db.models.functions import Concat
from django.utils import timezone

from engagements.common import links
from engagements.common.dates import in_words
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.terms import terms_of
from engagements.documents.models import Document
from engagements.notifications import mails
from engagements.notifications.models import Mail

State = ContractVersion.State
# What was issued earlier is no news: nobody is mailed what lay here for years.
IS_NEWS_FOR = timedelta(days=7)


def unsent() -> list[Document]:
    """The contracts issued lately of which no mail was written."""
    written = Mail.objects.filter(key=Concat(Value("document:"), OuterRef("subject")))
    issued = Document.objects.filter(
        kind=Document.Kind.CONTRACT, issued_at__gte=timezone.now() - IS_NEWS_FOR
    )
    return list(issued.filter(~Exists(written)).defer("content"))


@transaction.atomic
def write(*, document: Document) -> list[Mail]:
    """Write the mails that take a contract to whom it concerns; a second time nothing changes.

    Any other document, and an offer that is no longer one, is mailed to nobody.
    """
    if document.kind != Document.Kind.CONTRACT:
        return []
    pk, _, act = document.subject.partition(":")[2].partition(":")
    contract = ContractVersion.objects.select_related("engagement").get(pk=int(pk))
    written = _accepted(contract) if act else _offered(contract)
    return [
        mails.write(
            key=f"document:{document.subject}",
            engagement=contract.engagement,
            recipient=recipient,
            subject=document.title if act else f"{document.title}, for you to accept or decline",
            body=f"{contract.engagement.title}\n\n{body}\n\n"
            f"Digest of the terms: {contract.digest}\nDigest of this file: {document.digest}\n",
            document=document,
        )
        for recipient, body in written.items()
    ]


def _accepted(contract: ContractVersion) -> dict[str, str]:
    """The mail to each of those who accepted it, which leads to the page that they have of it."""
    told = (
        f"Both parties have accepted version {contract.number} of the contract. It is attached, "
        "signed by the consultancy: keep it as it is, byte for byte.\n\nThe engagement:"
    )
    pages = {Party.CUSTOMER: "portal-engagement", Party.CONSULTANCY: "engagement"}
    return {
        each.user.email: f"{told} "
        + links.to_page(pages[Party(each.party)], contract.engagement.reference)
        for each in contract.acceptances.select_related("user")
    }


def _offered(contract: ContractVersion) -> dict[str, str]:
    """The mail to each who may sign it."""
    who = terms_of(contract)["signatories"]["customer"]
    recipients = [each["email"] for each in who] if contract.state == State.OFFERED else []
    until = f" until {in_words(contract.valid_until)}" if contract.valid_until else ""
    body = (
        f"Version {contract.number} of the contract is offered to you{until}. It is attached; "
        "you accept or decline it in the portal, where its digest stands on the screen:\n\n"
        + links.to_page("portal-contract", contract.engagement.reference)
    )
    return dict.fromkeys(recipients, body)
