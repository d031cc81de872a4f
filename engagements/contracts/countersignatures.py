"""Store the contract's PDF as the customer signed it elsewhere."""

from __future__ import annotations

from django.db import transaction

from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.contracts import offers
from engagements.contracts.models import ContractVersion
from engagements.contracts.signing_models import Countersignature
from engagements.documents import countersignatures as validating
from engagements.documents.models import Document
from engagements.event_log import events
from engagements.people.models import User

State = ContractVersion.State
OPEN = (State.OFFERED, State.ACCEPTED, State.SUPERSEDED)


@transaction.atomic
def add(*, contract: ContractVersion, content: bytes, by: User) -> Countersignature:
    """Validate and store a signed PDF of `contract`; a file stored before is returned.

    It adds evidence and does not replace the acceptance in the portal.
    """
    row, engagement = offers.locked(contract)
    access.require_signatory(engagement, by)
    if row.state not in OPEN:
        raise ApplicationError(
            f"Version {row.number} of the contract is neither on offer nor accepted.",
            code="countersignature.not_open",
        )
    document = _document_of(row, content)
    found = validating.validate(content, issued=bytes(document.content))
    stored = row.countersignatures.filter(digest=found.digest).first()
    if stored is not None:
        return stored
    countersignature = Countersignature(
        contract_version=row,
        document=document,
        uploaded_by=by,
        content=content,
        digest=found.digest,
        signer=found.signer,
        certificate=found.certificate,
        fingerprint=found.fingerprint,
        signed_at=found.signed_at,
    )
    validation.save_validated(countersignature)
    events.record(
        engagement=engagement,
        verb="contract.countersigned",
        summary=f"{by} uploaded the PDF of version {row.number} of the contract with the "
        "customer’s signature.",
        actor=by,
        changes={
            "version": row.number,
            "document": document.digest,
            "digest": found.digest,
            "certificate": found.fingerprint,
        },
        for_customer=True,
    )
    return countersignature


def _document_of(contract: ContractVersion, content: bytes) -> Document:
    """The issued PDF that `content` begins with, else the newest one."""
    subjects = (f"contract:{contract.pk}", f"contract:{contract.pk}:accepted")
    issued = list(Document.objects.filter(kind=Document.Kind.CONTRACT, subject__in=subjects))
    if not issued:
        raise ApplicationError(
            "The PDF of this contract is not issued yet. Try again in a minute.",
            code="countersignature.not_issued",
        )
    return next((each for each in issued if content.startswith(bytes(each.content))), issued[0])
