"""Sign PDFs as the consultancy: PAdES B-T with a time-stamp authority, else B-B.

TWOFOLD_TIMESTAMP_URL names the authority (RFC 3161). Without one, equal content, time and
certificate give equal bytes.
"""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from engagements.documents import certificate as certificates

FIELD, CUSTOMER_FIELD = "Consultancy", "Customer"
TIMESTAMP_SECONDS = 30


def level_text() -> str:
    """A sentence about the time that a document's signature proves."""
    if settings.TWOFOLD_TIMESTAMP_URL:
        return (
            "This file has an electronic seal (PAdES B-T). A time-stamp authority confirms when "
            "it was sealed."
        )
    return (
        "This file has an electronic seal (PAdES B-B). No time-stamp authority confirms when it "
        "was sealed: the time is that of the consultancy’s server."
    )


class SigningFailed(RuntimeError):
    """The certificate is missing or unusable; see `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = f"Signing failed. {reason}"


def sign(
    content: bytes, *, dated: datetime, reason: str, is_countersignable: bool = False
) -> bytes:
    """Append the consultancy's signature, dated `dated`, to a PDF.

    It certifies the file (DocMDP): nothing may change afterwards, or with `is_countersignable`
    only the empty field "Customer" may be signed and forms be filled in.

    SigningFailed without a usable certificate, or without an answer of the time-stamp authority.
    """
    from pyhanko.pdf_utils.misc import PdfError
    from pyhanko.sign.signers.pdf_signer import SigningError
    from pyhanko.sign.timestamps import TimestampRequestError

    try:
        own = certificates.own()
        # pyHanko runs an event loop, which fails in a thread that already has one.
        with ThreadPoolExecutor(1) as thread:
            signing = thread.submit(
                _signed, content, own, dated.astimezone(UTC), reason, is_countersignable
            )
            return signing.result()
    except TimestampRequestError as error:
        # Its second argument is the answer itself.
        raise SigningFailed(f"{error.args[0]} {settings.TWOFOLD_TIMESTAMP_URL}") from error
    # An authority that answers something else than ASN.1 raises ValueError.
    except (ImproperlyConfigured, PdfError, SigningError, ValueError) as error:
        raise SigningFailed(str(error)) from error


def signer_of(content: bytes) -> x509.Certificate | None:
    """Return the certificate that a PDF names as its signer's; None if unsigned.

    Does not validate the signature.
    """
    from pyhanko.pdf_utils.misc import PdfError
    from pyhanko.pdf_utils.reader import PdfFileReader

    try:
        found = PdfFileReader(io.BytesIO(content)).embedded_regular_signatures
    except PdfError:
        return None
    return x509.load_der_x509_certificate(found[0].signer_cert.dump()) if found else None


def _signed(
    content: bytes,
    own: certificates.Certificate,
    dated: datetime,
    reason: str,
    is_countersignable: bool,
) -> bytes:
    from pyhanko.sign.fields import (
        InvisSigSettings,
        MDPPerm,
        SigFieldSpec,
        SigSeedSubFilter,
        append_signature_field,
    )
    from pyhanko.sign.signers import PdfSignatureMetadata

    meta = PdfSignatureMetadata(
        field_name=FIELD,
        subfilter=SigSeedSubFilter.PADES,
        md_algorithm="sha256",
        name=_name_of(own.certificate),
        reason=reason,
        certify=True,
        docmdp_permissions=MDPPerm.FILL_FORMS if is_countersignable else MDPPerm.NO_CHANGES,
    )
    # Outside the page: PDF/UA requires visible content to be tagged.
    outside = InvisSigSettings(box_out_of_bounds=True)
    field = SigFieldSpec(
        FIELD, readable_field_name="Signature of the consultancy", invis_sig_settings=outside
    )
    signer = _dated_signer(dated)(
        meta, signer=signer_with(own), timestamper=_timestamper(), new_field_spec=field
    )
    writer = _repeatable_writer()(io.BytesIO(content))
    if is_countersignable:
        append_signature_field(
            writer,
            SigFieldSpec(
                CUSTOMER_FIELD,
                readable_field_name="Signature of the customer",
                invis_sig_settings=outside,
            ),
        )
    signed: bytes = signer.sign_pdf(writer).getvalue()
    return signed


def _name_of(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if names else certificate.subject.rfc4514_string()


def signer_with(own: certificates.Certificate) -> Any:
    """Return the signer for this certificate."""
    from asn1crypto import x509 as asn1
    from pyhanko.sign.general import get_pyca_cryptography_hash
    from pyhanko.sign.signers import Signer
    from pyhanko_certvalidator.registry import SimpleCertificateStore

    class OwnKeySigner(Signer):
        """Signs with the loaded key; pyHanko would load and check it for each signature."""

        async def async_sign_raw(
            self, data: bytes, digest_algorithm: str, dry_run: bool = False
        ) -> bytes:
            if dry_run:
                return bytes(own.key.key_size // 8)
            algorithm = get_pyca_cryptography_hash(digest_algorithm)
            return own.key.sign(data, padding.PKCS1v15(), algorithm)

    def converted(each: x509.Certificate) -> Any:
        return asn1.Certificate.load(each.public_bytes(serialization.Encoding.DER))

    return OwnKeySigner(
        signing_cert=converted(own.certificate),
        cert_registry=SimpleCertificateStore.from_certs([converted(each) for each in own.chain]),
    )


def _timestamper() -> Any:
    """The client of the time-stamp authority; None without one."""
    if not settings.TWOFOLD_TIMESTAMP_URL:
        return None
    from pyhanko.sign.timestamps import HTTPTimeStamper

    return HTTPTimeStamper(settings.TWOFOLD_TIMESTAMP_URL, timeout=TIMESTAMP_SECONDS)


def _dated_signer(dated: datetime) -> Any:
    from pyhanko.sign.signers import PdfSigner

    class DatedSigner(PdfSigner):
        """Uses the given time; pyHanko would read the clock."""

        def init_signing_session(self, *args: Any, **kwargs: Any) -> Any:
            session = super().init_signing_session(*args, **kwargs)
            session.system_time = dated
            return session

    return DatedSigner


def _repeatable_writer() -> Any:
    from pyhanko.pdf_utils import generic
    from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter

    class RepeatableWriter(IncrementalPdfFileWriter):
        """Derives the file id from the unsigned file; pyHanko would draw a random one."""

        @classmethod
        def _handle_id(cls, prev: Any) -> Any:
            first, _ = super()._handle_id(prev)
            prev.stream.seek(0)
            second = hashlib.sha256(prev.stream.read()).digest()[:16]
            return generic.ArrayObject([first, generic.ByteStringObject(second)])

        def _update_meta(self) -> None:
            """Keep the metadata of the unsigned file."""

    return RepeatableWriter
