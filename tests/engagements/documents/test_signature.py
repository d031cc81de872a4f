"""Contracts are signed by the consultancy; changing one byte breaks the signature."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
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
from pypdf import PdfReader
from weasyprint import HTML

from engagements import documents
from engagements.documents import certificate, pdf_reading, signature
from engagements.documents.models import Document
from tests.engagements.charts import measured
from tests.engagements.document_story import Story
from tests.engagements.documents.timestamp_authority import authority
from tests.engagements.pdf_text import words

DATED = datetime(2026, 9, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create one certificate for the module: generating the key is slow."""
    file = tmp_path_factory.mktemp("certificate") / "certificate.pem"
    certificate.make(file)
    return file


@pytest.fixture(autouse=True)
def _use_own_certificate(settings: Any, own: Path) -> None:
    settings.TWOFOLD_CERTIFICATE_FILE = str(own)


@pytest.fixture(scope="module")
def unsigned() -> bytes:
    made: bytes = HTML(string="<h1>Terms</h1>").write_pdf(pdf_identifier=b"a" * 32)
    return made


def validated(content: bytes) -> PdfSignatureStatus:
    """Validate with pyHanko, trusting this installation's certificate."""
    der = certificate.own().certificate.public_bytes(serialization.Encoding.DER)
    trusted = ValidationContext(trust_roots=[asn1.Certificate.load(der)])
    found = pdf_reading.reader_class()(content).embedded_signatures
    assert len(found) == 1
    return validate_pdf_signature(found[0], trusted)


def test_an_issued_contract_has_a_valid_signature(story: Story) -> None:
    story.audited()
    contract = story.offered()
    document = documents.issue(kind="contract", subject=f"contract:{contract.pk}")
    status = validated(bytes(document.content))
    assert status.bottom_line
    assert status.coverage is not None
    assert status.coverage.name == "ENTIRE_FILE"
    assert contract.sealed_at is not None
    assert status.signer_reported_dt == contract.sealed_at.replace(microsecond=0)


def is_valid(content: bytes) -> bool:
    """Whether the signature validates; an unreadable file does not."""
    try:
        return bool(validated(content).bottom_line)
    except (PdfError, ValueError, zlib.error):
        return False


def test_a_flipped_byte_breaks_the_signature(unsigned: bytes) -> None:
    signed = signature.sign(unsigned, dated=DATED, reason="Terms")
    assert is_valid(signed)
    for place in (20, len(unsigned) // 2, len(unsigned) + 40, len(signed) - 60):
        changed = bytearray(signed)
        changed[place] ^= 1
        assert not is_valid(bytes(changed)), place


def test_signing_is_reproducible(unsigned: bytes) -> None:
    once = signature.sign(unsigned, dated=DATED, reason="Terms")
    assert once == signature.sign(unsigned, dated=DATED, reason="Terms")
    assert once.startswith(unsigned)


def test_a_time_stamp_authority_confirms_the_time(unsigned: bytes, settings: Any) -> None:
    with authority(at=DATED) as (url, stamping):
        settings.TWOFOLD_TIMESTAMP_URL = url
        signed = signature.sign(unsigned, dated=DATED, reason="Terms")
    der = certificate.own().certificate.public_bytes(serialization.Encoding.DER)
    status = validate_pdf_signature(
        PdfFileReader(io.BytesIO(signed)).embedded_signatures[0],
        ValidationContext(trust_roots=[asn1.Certificate.load(der)]),
        ValidationContext(trust_roots=[stamping]),
    )
    assert status.bottom_line
    assert status.timestamp_validity is not None
    assert status.timestamp_validity.trusted
    assert status.timestamp_validity.timestamp == DATED
    assert "PAdES B-T" in signature.level_text()


def test_a_silent_time_stamp_authority_fails_the_signature(unsigned: bytes, settings: Any) -> None:
    with authority(at=DATED) as (url, _):
        pass
    settings.TWOFOLD_TIMESTAMP_URL = url
    with pytest.raises(signature.SigningFailed):
        signature.sign(unsigned, dated=DATED, reason="Terms")


@pytest.mark.soak
def test_every_kind_of_document_is_signed_and_states_its_level(
    story: Story, issued: Callable[[str, str], PdfReader]
) -> None:
    audit = story.audited()
    contract = story.accepted(story.offered())
    milestone = story.paid_first_milestone(contract)
    invoice = milestone.invoice_lines.get().invoice
    run = story.measured(measured.record(), purpose="trial")
    story.time_box_over(contract)
    settlement = story.settled(contract)
    for kind, subject in (
        ("audit_report", f"audit:{audit.pk}"),
        ("contract", f"contract:{contract.pk}:accepted"),
        ("completion_certificate", f"contract:{contract.pk}"),
        ("invoice", f"invoice:{invoice.pk}"),
        ("benchmark_report", f"run:{run.pk}"),
        ("settlement_statement", f"settlement:{settlement.pk}"),
    ):
        text = words(issued(kind, subject))
        content = bytes(Document.objects.get(kind=kind, subject=subject).content)
        assert validated(content).bottom_line, kind
        assert "No time-stamp authority confirms" in text, kind


def test_another_certificate_is_not_trusted(unsigned: bytes, tmp_path: Path, settings: Any) -> None:
    signed = signature.sign(unsigned, dated=DATED, reason="Terms")
    certificate.make(tmp_path / "other.pem")
    settings.TWOFOLD_CERTIFICATE_FILE = str(tmp_path / "other.pem")
    status = validated(signed)
    assert status.intact
    assert not status.trusted


def test_production_requires_a_certificate(settings: Any) -> None:
    settings.PRODUCTION = True
    settings.TWOFOLD_CERTIFICATE_FILE = None
    with pytest.raises(ImproperlyConfigured, match="TWOFOLD_CERTIFICATE_FILE"):
        certificate.own()


def test_unusable_certificates_are_rejected(settings: Any, own: Path, tmp_path: Path) -> None:
    key, _, public = own.read_text().partition("-----BEGIN CERTIFICATE-----")
    other = tmp_path / "other.pem"
    certificate.make(other)
    cases = {
        "nothing here": "PEM",
        key: "PEM",
        other.read_text().partition("-----BEGIN CERTIFICATE-----")[0]
        + "-----BEGIN CERTIFICATE-----"
        + public: "no certificate matches",
    }
    for text, reason in cases.items():
        file = tmp_path / "bad.pem"
        file.write_text(text)
        settings.TWOFOLD_CERTIFICATE_FILE = str(file)
        with pytest.raises(ImproperlyConfigured, match=reason):
            certificate.own()
    settings.TWOFOLD_CERTIFICATE_FILE = str(tmp_path / "missing.pem")
    with pytest.raises(ImproperlyConfigured, match=r"missing\.pem"):
        certificate.own()


def test_a_development_certificate_is_created_once_and_private(
    settings: Any, tmp_path: Path
) -> None:
    settings.TWOFOLD_CERTIFICATE_FILE = None
    settings.TWOFOLD_HOME = tmp_path
    first = certificate.own()
    assert certificate.own().certificate == first.certificate
    file = tmp_path / "certificate.pem"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["certificate.pem"]
