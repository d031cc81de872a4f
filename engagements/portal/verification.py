"""What the house says of a digest to whoever holds it: what it is of, never what it says.

A digest is known to those who hold the document; nobody guesses one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from benchmarks.models import Benchmark
from engagements.contracts.clauses.models import Clause
from engagements.contracts.models import ContractVersion
from engagements.documents.models import Document

DIGEST = re.compile(r"(?:sha-?256[:=\s])?\s*([0-9a-f]{64})")
STANDS: dict[str, str] = {
    ContractVersion.State.OFFERED: "offered, and not accepted by both parties yet",
    ContractVersion.State.ACCEPTED: "accepted by both parties and in force",
    ContractVersion.State.DECLINED: "declined",
    ContractVersion.State.WITHDRAWN: "withdrawn",
    ContractVersion.State.EXPIRED: "expired before both parties had accepted it",
    ContractVersion.State.SUPERSEDED: "replaced by a later version that both parties accepted",
}


@dataclass(frozen=True)
class Verified:
    """Something of the house's that has a digest: what it is, since when, and how it stands."""

    digest: str
    what: str
    since: datetime
    standing: str = ""
    document: Document | None = None


def digest_in(text: str) -> str | None:
    """The digest that `text` is, as in sha256:4f…; None when it is none."""
    found = DIGEST.fullmatch(text.strip().lower())
    return f"sha256:{found[1]}" if found else None


def verified(digest: str) -> Verified | None:
    """What has `digest`: a document byte for byte, sealed terms, a governing text, a sealed
    benchmark, or what a document states at its foot."""
    document = Document.objects.filter(digest=digest).first()
    if document is not None:
        what = document.get_kind_display()
        return Verified(digest, what, document.issued_at, _standing(document), document)
    contract = ContractVersion.objects.filter(digest=digest).exclude(digest="").first()
    if contract is not None and contract.sealed_at is not None:
        return Verified(
            digest,
            f"Terms of a contract, version {contract.number}",
            contract.sealed_at,
            STANDS[contract.state],
        )
    clause = Clause.objects.filter(digest=digest).order_by("number").first()
    if clause is not None:
        return Verified(
            digest, f"Governing text “{clause.title}”, number {clause.number}", clause.published_at
        )
    benchmark = Benchmark.objects.filter(digest=digest).first()
    if benchmark is not None:
        return Verified(digest, "Sealed benchmark", benchmark.sealed_at)
    return _stated(digest)


def _stated(digest: str) -> Verified | None:
    """The document at whose foot `digest` stands. A digest of facts says nothing of a file."""
    document = Document.objects.filter(seal=digest).exclude(seal="").order_by("pk").first()
    if document is None:
        return None
    what = f"{document.get_kind_display()}: what it states, and not the file itself"
    return Verified(digest, what, document.issued_at)


def _standing(document: Document) -> str:
    """How the contract stands that a document is of; "" for any other document."""
    if document.kind != Document.Kind.CONTRACT:
        return ""
    pk = int(document.subject.split(":")[1])
    return STANDS[
        ContractVersion.State(ContractVersion.objects.values_list("state", flat=True).get(pk=pk))
    ]
