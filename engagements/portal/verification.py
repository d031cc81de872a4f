"""Verify a digest: name its document and status, never the content.

Only holders of a document know its digest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from benchmarks.models import Benchmark, Record
from engagements.contracts.clauses.models import Clause
from engagements.contracts.models import ContractVersion
from engagements.documents.models import Document
from engagements.runs.models import EngagementRun
from engagements.runs.sides import Side, sides_of

DIGEST = re.compile(r"(?:sha-?256[:=\s])?\s*([0-9a-f]{64})")
CONTRACT_STATUS: dict[str, str] = {
    ContractVersion.State.OFFERED: "offered, not yet accepted by both parties",
    ContractVersion.State.ACCEPTED: "accepted by both parties and in force",
    ContractVersion.State.DECLINED: "declined",
    ContractVersion.State.WITHDRAWN: "withdrawn",
    ContractVersion.State.EXPIRED: "expired before both parties accepted it",
    ContractVersion.State.SUPERSEDED: "replaced by a later version that both parties accepted",
}


@dataclass(frozen=True)
class Verified:
    """An item with a digest: what it is, since when, and its status."""

    digest: str
    what: str
    since: datetime
    status: str = ""
    document: Document | None = None
    measurements: Sequence[Side] = ()


def digest_in(text: str) -> str | None:
    """Parse a digest such as sha256:4f…; None for anything else."""
    found = DIGEST.fullmatch(text.strip().lower())
    return f"sha256:{found[1]}" if found else None


def verified(digest: str) -> Verified | None:
    """Find the item with `digest`: a document file, sealed terms, a governing text, a sealed
    benchmark, a record or a file of it, or the stated facts in a document's footer."""
    document = Document.objects.filter(digest=digest).first()
    if document is not None:
        what = document.get_kind_display()
        return Verified(digest, what, document.issued_at, _status(document), document)
    contract = ContractVersion.objects.filter(digest=digest).exclude(digest="").first()
    if contract is not None and contract.sealed_at is not None:
        return Verified(
            digest,
            f"Terms of a contract, version {contract.number}",
            contract.sealed_at,
            CONTRACT_STATUS[contract.state],
        )
    clause = Clause.objects.filter(digest=digest).order_by("number").first()
    if clause is not None:
        return Verified(
            digest, f"Governing text “{clause.title}”, number {clause.number}", clause.published_at
        )
    benchmark = Benchmark.objects.filter(digest=digest).first()
    if benchmark is not None:
        return Verified(digest, "Sealed benchmark", benchmark.sealed_at)
    record = _record(digest)
    return record if record is not None else _stated(digest)


def _record(digest: str) -> Verified | None:
    """Find the record with `digest`: its own, or that of a file of it, with or without source."""
    any_of_them = Q(digest=digest) | Q(file_digest=digest) | Q(sourceless_digest=digest)
    record = Record.objects.select_related("signed_by").filter(any_of_them).first()
    if record is None:
        return None
    what = "Record of a run"
    if digest == record.sourceless_digest:
        what += ", without the kernel's source"
    key = record.signed_by
    party = "the customer" if key is not None and key.owner else "the consultancy"
    status = "unsigned" if key is None else f"signed by {key.name} of {party}, key {key.key_id}"
    if key is not None and key.revoked_at is not None:
        status += ", revoked since"
    return Verified(digest, what, record.received_at, status, measurements=_measurements(record))


def _measurements(record: Record) -> list[Side]:
    """Both measurements of the run with this record; none where one party measures."""
    run = EngagementRun.objects.select_related("engagement__customer").filter(run=record.run_id)
    found = run.first()
    return sides_of(found) if found else []


def _stated(digest: str) -> Verified | None:
    """Find the document with `digest` in its footer, which is of its facts and not of the file."""
    document = Document.objects.filter(seal=digest).exclude(seal="").order_by("pk").first()
    if document is None:
        return None
    what = f"{document.get_kind_display()}: its stated facts, not the file itself"
    return Verified(digest, what, document.issued_at)


def _status(document: Document) -> str:
    """Return the status of the contract in a document; "" for other documents."""
    if document.kind != Document.Kind.CONTRACT:
        return ""
    pk = int(document.subject.split(":")[1])
    return CONTRACT_STATUS[
        ContractVersion.State(ContractVersion.objects.values_list("state", flat=True).get(pk=pk))
    ]
