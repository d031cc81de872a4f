"""A contract is signed by the consultancy: its signature holds until one byte is another."""

from __future__ import annotations

import io
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from asn1crypto import x509 as asn1
from cryptography.hazmat.primitives import serialization
from django.core.exceptions import ImproperlyConfigured
from pyhanko.pdf_utils.misc import PdfError
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.validation import validate_pdf_signature
from pyhanko.sign.validation.status import PdfSignatureStatus
from pyhanko_certvalidator import ValidationContext
from weasyprint import HTML

from engagements import documents
from engagements.documents import certificate, signature
from tests.engagements.document_story import Story

DATED = datetime(2026, 9, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this module's own: making the key takes a while."""
    file = tmp_path_factory.mktemp("certificate") / "certificate.pem"
    certificate.make(file)
    return file


@pytest.fixture(autouse=True)
def _signs_with_its_own(settings: Any, own: Path) -> None:
    settings.TWOFOLD_CERTIFICATE_FILE = str(own)


@pytest.fixture(scope="module")
def unsigned() -> bytes:
    made: bytes = HTML(string="<h1>Terms</h1>").write_pdf(pdf_identifier=b"a" * 32)
    return made


def validated(content: bytes) -> PdfSignatureStatus:
    """What pyHanko's validator says when it trusts this install's certificate."""
    der = certificate.own().certificate.public_bytes(serialization.Encoding.DER)
    trusted = ValidationContext(trust_roots=[asn1.Certificate.load(der)])
    found = PdfFileReader(io.BytesIO(content)).embedded_signatures
    assert len(found) == 1
    return validate_pdf_signature(found[0], trusted)


def test_an_issued_contract_bears_a_signature_that_validates(story: Story) -> None:
    story.audited()
    contract = story.offered()
    document = documents.issue(kind="contract", subject=f"contract:{contract.pk}")
    status = validated(bytes(document.content))
    assert status.bottom_line
    assert status.coverage is not None
    assert status.coverage.name == "ENTIRE_FILE"
    assert contract.sealed_at is not None
    assert status.signer_reported_dt == contract.sealed_at.replace(microsecond=0)


def holds(content: bytes) -> bool:
    """Whether the signature validates; what cannot even be read does not."""
    try:
        return bool(validated(content).bottom_line)
    except (PdfError, ValueError, zlib.error):
        return False


def test_a_flipped_byte_breaks_the_signature(unsigned: bytes) -> None:
    signed = signature.sign(unsigned, dated=DATED, reason="Terms")
    assert holds(signed)
    for place in (20, len(unsigned) // 2, len(unsigned) + 40, len(signed) - 60):
        changed = bytearray(signed)
        changed[place] ^= 1
        assert not holds(bytes(changed)), place


def test_signing_the_same_again_gives_the_same_bytes(unsigned: bytes) -> None:
    once = signature.sign(unsigned, dated=DATED, reason="Terms")
    assert once == signature.sign(unsigned, dated=DATED, reason="Terms")
    assert once.startswith(unsigned)


def test_another_certificate_is_not_believed(
    unsigned: bytes, tmp_path: Path, settings: Any
) -> None:
    signed = signature.sign(unsigned, dated=DATED, reason="Terms")
    certificate.make(tmp_path / "other.pem")
    settings.TWOFOLD_CERTIFICATE_FILE = str(tmp_path / "other.pem")
    status = validated(signed)
    assert status.intact
    assert not status.trusted


def test_production_says_what_is_missing(settings: Any) -> None:
    settings.PRODUCTION = True
    settings.TWOFOLD_CERTIFICATE_FILE = None
    with pytest.raises(ImproperlyConfigured, match="TWOFOLD_CERTIFICATE_FILE is not set"):
        certificate.own()


def test_what_cannot_be_signed_with_is_refused(settings: Any, own: Path, tmp_path: Path) -> None:
    key, _, public = own.read_text().partition("-----BEGIN CERTIFICATE-----")
    other = tmp_path / "other.pem"
    certificate.make(other)
    cases = {
        "nothing here": "no private key",
        key: "no private key",
        other.read_text().partition("-----BEGIN CERTIFICATE-----")[0]
        + "-----BEGIN CERTIFICATE-----"
        + public: "none of the certificates is that of the key",
    }
    for text, said in cases.items():
        file = tmp_path / "bad.pem"
        file.write_text(text)
        settings.TWOFOLD_CERTIFICATE_FILE = str(file)
        with pytest.raises(ImproperlyConfigured, match=said):
            certificate.own()
    settings.TWOFOLD_CERTIFICATE_FILE = str(tmp_path / "missing.pem")
    with pytest.raises(ImproperlyConfigured, match="cannot be read"):
        certificate.own()


def test_an_install_makes_its_own_once_and_keeps_it_to_itself(
    settings: Any, tmp_path: Path
) -> None:
    settings.TWOFOLD_CERTIFICATE_FILE = None
    settings.TWOFOLD_HOME = tmp_path
    first = certificate.own()
    assert certificate.own().certificate == first.certificate
    file = tmp_path / "certificate.pem"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["certificate.pem"]
