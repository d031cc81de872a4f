"""Validate PDFs that were issued here and signed elsewhere.

Such a file is the issued one with signatures appended to it. A signer's certificate is read and
shown; whether to trust it is the reader's decision.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from engagements.common.errors import ApplicationError
from engagements.documents import pdf_reading

# Bytes that signatures may add to the issued file: certificates, time stamps, a small picture.
MAX_ADDED_BYTES = 2**20
MAX_SIGNATURES = 8


@dataclass(frozen=True)
class ExternalSignature:
    """The newest signature of a file: its signer's certificate (PEM) and the time it states."""

    signer: str
    certificate: str
    fingerprint: str
    signed_at: datetime | None
    digest: str


def validate(content: bytes, *, issued: bytes) -> ExternalSignature:
    """Validate `content` as the PDF `issued` with signatures appended to it.

    Each signature has to be intact and the newest has to cover the whole file; after the
    consultancy's own only signing and filling in of forms are permitted. ApplicationError
    otherwise.
    """
    added = len(content) - len(issued)
    if added > MAX_ADDED_BYTES:
        raise ApplicationError(
            f"A signature may add at most {MAX_ADDED_BYTES // 1024} KiB to the issued PDF.",
            code="countersignature.too_large",
        )
    if added <= 0 or not content.startswith(issued):
        raise ApplicationError(
            "Sign the PDF of this contract as issued, and upload it without saving it anew.",
            code="countersignature.other_document",
        )
    # pyHanko runs an event loop, which fails in a thread that already has one.
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(_validated, content, issued).result()
        except ApplicationError:
            raise
        # A hostile file can make the parser fail in any way.
        except Exception as error:
            raise ApplicationError(
                "This PDF or its signature cannot be read. Sign the issued PDF again.",
                code="countersignature.unreadable",
            ) from error


def _validated(content: bytes, issued: bytes) -> ExternalSignature:
    reader = pdf_reading.reader_class()
    before = reader(issued).embedded_regular_signatures
    found = reader(content).embedded_regular_signatures
    if not before or not len(before) < len(found) <= MAX_SIGNATURES:
        raise ApplicationError(
            "The PDF has no signature besides the consultancy’s. Sign it and upload it again.",
            code="countersignature.no_signature",
        )
    for position, each in enumerate(found):
        _require_intact(each, is_newest=position == len(found) - 1)
    own, newest = (_certificate(each) for each in (found[0], found[-1]))
    if own == newest:
        raise ApplicationError(
            "The newest signature is the consultancy’s own. Sign the PDF as the customer.",
            code="countersignature.no_signature",
        )
    return ExternalSignature(
        signer=newest.subject.rfc4514_string(),
        certificate=newest.public_bytes(serialization.Encoding.PEM).decode(),
        fingerprint=newest.fingerprint(hashes.SHA256()).hex(":"),
        signed_at=found[-1].self_reported_timestamp,
        digest="sha256:" + hashlib.sha256(content).hexdigest(),
    )


def _require_intact(signature: Any, *, is_newest: bool) -> None:
    from pyhanko.sign.validation import validate_pdf_signature
    from pyhanko.sign.validation.status import SignatureCoverageLevel
    from pyhanko_certvalidator import ValidationContext

    # Without roots no signer is trusted here, and nothing is fetched from a network.
    status = validate_pdf_signature(
        signature, ValidationContext(trust_roots=[], allow_fetching=False)
    )
    if not (status.intact and status.valid):
        raise ApplicationError(
            "A signature of this PDF is broken. Sign the issued PDF again.",
            code="countersignature.broken",
        )
    is_whole = status.coverage == SignatureCoverageLevel.ENTIRE_FILE
    if not status.docmdp_ok or (is_newest and not is_whole):
        raise ApplicationError(
            "The PDF was changed besides being signed. Sign the issued PDF again.",
            code="countersignature.changed",
        )


def _certificate(signature: Any) -> x509.Certificate:
    return x509.load_der_x509_certificate(signature.signer_cert.dump())
