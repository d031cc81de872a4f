"""Mail contracts: the offer to its signatories, the accepted contract to both parties."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, TextField, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from engagements.common import links
from engagements.common.dates import in_words
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signatories import waits_for, who_signs
from engagements.contracts.signing_models import Acceptance, Delegation
from engagements.contracts.terms import terms_of
from engagements.documents.models import Document
from engagements.notifications import mails
from engagements.notifications.models import Mail

State = ContractVersion.State
# Documents issued earlier are not mailed.
MAIL_PERIOD = timedelta(days=7)
REMINDER_AFTER = timedelta(days=7)
REMINDER_BEFORE_END = timedelta(days=3)


def unsent() -> list[Document]:
    """Recently issued contracts without a mail."""
    written = Mail.objects.filter(key=Concat(Value("document:"), OuterRef("subject")))
    issued = Document.objects.filter(
        kind=Document.Kind.CONTRACT, issued_at__gte=timezone.now() - MAIL_PERIOD
    )
    return list(issued.filter(~Exists(written)).defer("content"))


@transaction.atomic
def write(*, document: Document) -> list[Mail]:
    """Write the mails of a contract, once.

    Other documents, and offers that are no longer open, are not mailed.
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
            subject=document.title if act else f"{document.title}: ready for your signature",
            body=f"{contract.engagement.title}\n\n{body}\n\n"
            f"Digest of the terms: {contract.digest}\nDigest of this file: {document.digest}\n",
            document=document,
        )
        for recipient, body in written.items()
    ]


def _accepted(contract: ContractVersion) -> dict[str, str]:
    """The mail to each person who accepted the contract."""
    text = (
        f"Both parties have accepted version {contract.number} of the contract. It is attached, "
        "signed by the consultancy. Keep the file unchanged.\n\nOpen the engagement:"
    )
    pages = {Party.CUSTOMER: "portal-engagement", Party.CONSULTANCY: "engagement"}
    return {
        each.user.email: f"{text} "
        + links.to_page(pages[Party(each.party)], contract.engagement.reference)
        for each in contract.acceptances.select_related("user")
    }


def _offered(contract: ContractVersion, *, is_attached: bool = True) -> dict[str, str]:
    """The mail to each signatory named in the offer."""
    people = terms_of(contract)["signatories"]["customer"]
    delegation = contract.delegations.select_related("delegate").last()
    emails = [delegation.delegate.email] if delegation else [each["email"] for each in people]
    recipients = emails if contract.state == State.OFFERED else []
    is_later = waits_for(contract, Party.CUSTOMER) is not None
    body = (
        f"Version {contract.number} of the contract is ready for your signature"
        f"{_until(contract)}. {'The consultancy signs it first. ' if is_later else ''}"
        f"{'It is attached. ' if is_attached else ''}The portal shows the same digest.\n\n"
        "Read, accept or decline it in the portal:\n"
        + links.to_page("portal-contract", contract.engagement.reference)
    )
    return dict.fromkeys(recipients, body)


def write_delegation(*, delegation: Delegation) -> Mail:
    """Write the mail to the delegate of a signature."""
    contract = delegation.contract_version
    return _write_link(
        contract,
        key=f"delegation:{delegation.pk}",
        recipient=delegation.delegate.email,
        subject="A contract was delegated to you for signature",
        lead=f"{delegation.delegator} delegated the signature of version {contract.number} of the "
        f"contract to you{_until(contract)}.",
    )


def write_turn(*, contract: ContractVersion) -> list[Mail]:
    """Write the mails to the customer's signatories once the consultancy has signed first."""
    return [
        _write_link(
            contract,
            key=f"contract-turn:{contract.pk}",
            recipient=person.email,
            subject="The consultancy has signed the contract",
            lead=f"The consultancy has signed version {contract.number} of the contract. You can "
            f"now sign it{_until(contract)}.",
        )
        for person in who_signs(contract)
    ]


def _write_link(
    contract: ContractVersion, *, key: str, recipient: str, subject: str, lead: str
) -> Mail:
    reference = contract.engagement.reference
    return mails.write(
        key=key,
        engagement=contract.engagement,
        recipient=recipient,
        subject=f"{subject}: {reference}",
        body=f"{contract.engagement.title}\n\n{lead}\n\nRead and sign it in the portal:\n"
        f"{links.to_page('portal-contract', reference)}\n\n"
        f"Digest of the terms: {contract.digest}\n",
    )


def _until(contract: ContractVersion) -> str:
    return f" until {in_words(contract.valid_until)}" if contract.valid_until else ""


def awaiting_reminder() -> list[ContractVersion]:
    """Offers without the customer's signature a week after the offer, or three days before they
    expire, whose signatories have no reminder yet."""
    today, now = timezone.localdate(), timezone.now()
    is_old = Q(sealed_at__lte=now - REMINDER_AFTER)
    is_ending = Q(valid_until__gte=today, valid_until__lte=today + REMINDER_BEFORE_END)
    waiting = ContractVersion.objects.filter(is_old | is_ending, state=State.OFFERED)
    signed = Acceptance.objects.filter(contract_version=OuterRef("pk"), party=Party.CUSTOMER)
    key = Concat(Value("offer-reminder:"), Cast(OuterRef("pk"), TextField()))
    written = Mail.objects.filter(key=key)
    offers = waiting.filter(~Exists(written), ~Exists(signed)).defer("canonical")
    return [each for each in offers if not waits_for(each, Party.CUSTOMER)]


@transaction.atomic
def remind(*, contract: ContractVersion) -> list[Mail]:
    """Remind the signatories of an open offer, once."""
    row = ContractVersion.objects.select_related("engagement").get(pk=contract.pk)
    if row.acceptances.filter(party=Party.CUSTOMER).exists() or waits_for(row, Party.CUSTOMER):
        return []
    return [
        mails.write(
            key=f"offer-reminder:{row.pk}",
            engagement=row.engagement,
            recipient=recipient,
            subject=f"Reminder: contract {row.engagement.reference} waits for your signature",
            body=f"{row.engagement.title}\n\n{body}\n\nDigest of the terms: {row.digest}\n",
        )
        for recipient, body in _offered(row, is_attached=False).items()
    ]
