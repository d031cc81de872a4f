"""The contract's PDF, signed by the customer elsewhere: validated, stored, downloaded."""

from __future__ import annotations

import io
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pyhanko.pdf_utils.generic import pdf_name, pdf_string
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.fields import MDPPerm
from pyhanko.sign.signers import PdfSignatureMetadata, Signer, sign_pdf
from weasyprint import HTML

from engagements import documents
from engagements.common.errors import ApplicationError
from engagements.contracts import countersignatures, offers
from engagements.contracts.models import ContractVersion
from engagements.documents import certificate, countersigned, signature
from engagements.documents.countersignatures import MAX_ADDED_BYTES, validate
from tests.engagements.sessions import sign_in
from tests.engagements.world import World
from tests.errors import declined

DATED = datetime(2026, 9, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def customers_signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    folder = tmp_path_factory.mktemp("customer")
    certificate.make(folder / "own.pem")
    return signature.signer_with(certificate.of_file(folder / "own.pem"))


@pytest.fixture(autouse=True)
def _house(settings: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "house.pem"
    if not file.exists():
        certificate.make(file)
    settings.TWOFOLD_CERTIFICATE_FILE = str(file)


@pytest.fixture
def contract(world: World) -> ContractVersion:
    return world.offered()


@pytest.fixture
def issued(contract: ContractVersion) -> bytes:
    document = documents.issue(kind="contract", subject=f"contract:{contract.pk}")
    return bytes(document.content)


def signed(content: bytes, signer: Signer, field: str = "Customer") -> bytes:
    writer = IncrementalPdfFileWriter(io.BytesIO(content))
    meta = PdfSignatureMetadata(field_name=field)
    return bytes(sign_pdf(writer, meta, signer=signer).getvalue())


def changed(content: bytes) -> bytes:
    """The PDF with a page of another size, appended."""
    writer = IncrementalPdfFileWriter(io.BytesIO(content))
    page = writer.find_page_for_modification(0)[0].get_object()
    page[pdf_name("/Note")] = pdf_string("Fee: 1 EUR")
    page[pdf_name("/MediaBox")][2] = page["/MediaBox"][3]
    writer.update_container(page)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def upload(client: Client, contract: ContractVersion, content: bytes) -> Any:
    url = reverse(
        "portal-contract-countersign", args=[contract.engagement.reference, contract.number]
    )
    return client.post(url, {"file": SimpleUploadedFile("signed.pdf", content)})


def test_the_contract_has_an_empty_field_and_permits_signing(issued: bytes) -> None:
    reader = PdfFileReader(io.BytesIO(issued))
    (own,) = reader.embedded_regular_signatures
    assert own.docmdp_level == MDPPerm.FILL_FORMS
    fields = {str(each.get_object()["/T"]) for each in reader.root["/AcroForm"]["/Fields"]}
    assert fields == {"Consultancy", "Customer"}


def test_a_signatory_uploads_the_signed_pdf_and_downloads_it(
    client: Client,
    world: World,
    contract: ContractVersion,
    issued: bytes,
    customers_signer: Signer,
) -> None:
    content = signed(issued, customers_signer)
    sign_in(client, world.signatory)
    assert [upload(client, contract, content).status_code for _ in range(2)] == [302, 302]
    stored = contract.countersignatures.get()
    certified = customers_signer.signing_cert
    assert certified is not None
    assert x509_der(stored.certificate) == certified.dump()
    event = contract.engagement.events.get(verb="contract.countersigned")
    assert event.changes["digest"] == stored.digest
    url = reverse(
        "portal-contract-countersigned",
        args=[contract.engagement.reference, contract.number, stored.digest[7:]],
    )
    page = reverse("portal-contract", args=[contract.engagement.reference])
    assert url in client.get(page).content.decode()
    assert stored.fingerprint in client.get(page).content.decode()
    assert client.get(url).content == content
    assert client.get(url, {"certificate": "pem"}).content.decode() == stored.certificate
    for who, status in ((world.viewer, 200), (world.consultant, 200), (world.stranger, 404)):
        client.force_login(who)
        assert client.get(url).status_code == status


def x509_der(pem: str) -> bytes:
    found = x509.load_pem_x509_certificate(pem.encode())
    return found.public_bytes(serialization.Encoding.DER)


def test_hostile_and_huge_files_are_declined(customers_signer: Signer) -> None:
    unsigned: bytes = HTML(string="<h1>Terms</h1>").write_pdf(pdf_identifier=b"a" * 32)
    issued = signature.sign(unsigned, dated=DATED, reason="Terms", is_countersignable=True)
    good = signed(issued, customers_signer)
    broken = bytearray(good)
    broken[broken.index(b"/Contents <", len(issued)) + 3000] ^= 1
    house = signature.signer_with(certificate.own())
    cases: list[tuple[bytes, set[str]]] = [
        (issued, {"countersignature.other_document"}),
        (b"%PDF-1.7\n" + good, {"countersignature.other_document"}),
        (b"x" * len(good), {"countersignature.other_document"}),
        (issued + b"x" * (MAX_ADDED_BYTES + 1), {"countersignature.too_large"}),
        (issued + b"rubbish", {"countersignature.no_signature", "countersignature.unreadable"}),
        (signed(issued, house), {"countersignature.no_signature"}),
        (bytes(broken), {"countersignature.broken", "countersignature.unreadable"}),
        (signed(changed(issued), customers_signer), {"countersignature.changed"}),
        (changed(good), {"countersignature.changed"}),
    ]
    for position, (content, codes) in enumerate(cases):
        assert refusal(content, issued) in codes, position


def test_a_file_that_decompresses_to_gigabytes_is_declined_in_its_own_process(
    customers_signer: Signer,
) -> None:
    unsigned: bytes = HTML(string="<h1>Terms</h1>").write_pdf(pdf_identifier=b"a" * 32)
    issued = signature.sign(unsigned, dated=DATED, reason="Terms", is_countersignable=True)
    # Blocks that do not refer to one another, so that one of them is compressed and repeated.
    deflate = zlib.compressobj(9)
    start = deflate.compress(b"") + deflate.flush(zlib.Z_FULL_FLUSH)
    block = deflate.compress(bytes(2**20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    stream = start + block * (MAX_ADDED_BYTES * 9 // 10 // len(block))
    head = f"\n9999 0 obj <</Type /XRef /Size 10000 /W [1 4 1] /Root 1 0 R /Length {len(stream)} "
    tail = b"/Filter /FlateDecode>> stream\n"
    end = f"\nendstream endobj\nstartxref\n{len(issued) + 1}\n%%EOF\n".encode()
    hostile = issued + head.encode() + tail + stream + end
    assert refusal(hostile, issued) == "countersignature.unreadable"
    assert len(stream) // len(block) * 2**20 > countersigned.MEMORY_BYTES
    # A parent without other children, because the system keeps the peak of all children together.
    parent = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, '-I', sys.argv[1]]);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", parent, countersigned.__file__],
        input=len(issued).to_bytes(8, "big") + issued + hostile,
        stdout=subprocess.PIPE,
        check=True,
    )
    answer, peak_bytes = printed.stdout.decode().split("}")
    assert "unreadable" in answer
    assert int(peak_bytes) <= countersigned.MEMORY_BYTES


def refusal(content: bytes, issued: bytes) -> str:
    """The code with which a file is declined."""
    with pytest.raises(ApplicationError) as caught:
        validate(content, issued=issued)
    return str(caught.value.code)


def test_only_a_signatory_of_this_customer_uploads(
    client: Client,
    world: World,
    contract: ContractVersion,
    issued: bytes,
    customers_signer: Signer,
) -> None:
    content = signed(issued, customers_signer)
    for who, status in ((world.viewer, 403), (world.consultant, 403), (world.stranger, 404)):
        client.force_login(who)
        assert upload(client, contract, content).status_code == status
    client.force_login(world.signatory)
    assert upload(client, contract, issued).status_code == 422
    assert not contract.countersignatures.exists()
    with declined("access.signatories_only"):
        countersignatures.add(contract=contract, content=content, by=world.viewer)
    offers.withdraw(contract=contract, reason="Wrong fee.", by=world.consultant)
    with declined("countersignature.not_open"):
        countersignatures.add(contract=contract, content=content, by=world.signatory)
