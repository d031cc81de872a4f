"""Anyone can verify a document by its digest without seeing its content."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from engagements.contracts import terms as contract_terms
from engagements.contracts.models import Party
from engagements.documents.models import Document
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
VERIFIED, NOT_FOUND = 'id="verified"', 'id="not-found"'
CONTENT = b"%PDF-1.7 a contract with secrets"


def issued(world: World) -> Document:
    """Store a contract's document without rendering it."""
    contract = world.offered()
    return Document.objects.create(
        engagement=contract.engagement,
        kind=Document.Kind.CONTRACT,
        subject=f"contract:{contract.pk}",
        title="Contract of secrets",
        filename="secret.pdf",
        content=CONTENT,
        size_bytes=len(CONTENT),
        digest="sha256:" + hashlib.sha256(CONTENT).hexdigest(),
    )


def lookup(client: Client, digest: str) -> Any:
    return client.get(reverse("verify-document"), {"digest": digest})


def send(client: Client, content: bytes) -> Any:
    file = SimpleUploadedFile("any.pdf", content, content_type="application/pdf")
    return client.post(reverse("verify-file"), {"file": file})


def test_a_document_is_verified_by_its_digest_and_not_shown(client: Client, world: World) -> None:
    document = issued(world)
    for digest in (document.digest, document.digest.removeprefix("sha256:").upper()):
        page = lookup(client, digest)
        text = page.content.decode()
        assert page.status_code == 200
        assert VERIFIED in text
        assert "Offered" in text
        for secret in ("Contract of secrets", "secret.pdf", "Longprompt", "48,000"):
            assert secret not in text


def test_an_uploaded_file_is_verified(client: Client, world: World) -> None:
    issued(world)
    assert VERIFIED in send(client, CONTENT).content.decode()
    changed = bytearray(CONTENT)
    changed[5] ^= 1
    answer = send(client, bytes(changed))
    assert answer.status_code == 404
    assert NOT_FOUND in answer.content.decode()


def test_a_large_file_is_hashed_in_pieces(client: Client, world: World) -> None:
    content = b"x" * (3 * 2**20 + 7)
    answer = send(client, content)
    assert hashlib.sha256(content).hexdigest() in answer.content.decode()


def test_an_oversized_file_is_rejected_unread(client: Client) -> None:
    answer = client.generic(
        "POST",
        reverse("verify-file"),
        b"--x",
        content_type="multipart/form-data; boundary=x",
        CONTENT_LENGTH=str(10**9),
    )
    assert answer.status_code == 400


def test_terms_and_clauses_are_verified_by_their_digest(client: Client, world: World) -> None:
    contract = world.offered()
    assert VERIFIED in lookup(client, contract.digest).content.decode()
    for party in Party:
        world.accept(contract, party)
    assert "in force" in lookup(client, contract.digest).content.decode()
    clause = contract_terms.terms_of(contract)["text"]["clauses"][0]
    assert clause["title"] in lookup(client, clause["digest"]).content.decode()


def test_every_printed_digest_is_verified(client: Client, world: World) -> None:
    benchmark = world.benchmark
    assert VERIFIED in lookup(client, benchmark.digest).content.decode()
    engagement, seal = world.active().engagement, "sha256:" + "5" * 64
    Document.objects.create(
        engagement=engagement,
        kind=Document.Kind.INVOICE,
        subject="invoice:1",
        title="Invoice of secrets",
        filename="secret.pdf",
        content=CONTENT,
        size_bytes=len(CONTENT),
        digest="sha256:" + "6" * 64,
        seal=seal,
    )
    text = lookup(client, seal).content.decode()
    assert VERIFIED in text
    assert "secret" not in text


def test_unknown_digests_are_404_and_malformed_ones_422(client: Client, world: World) -> None:
    assert lookup(client, "sha256:" + "0" * 64).status_code == 404
    for text in ("", "sha256:123", "no digest", "sha256:" + "g" * 64):
        assert lookup(client, text).status_code == 422
    assert client.get(reverse("verify-document")).status_code == 200
    assert send(client, b"").status_code == 422
    assert client.post(reverse("verify-file")).status_code == 422


def test_a_draft_cannot_be_verified(client: Client, world: World) -> None:
    world.drafted()
    assert lookup(client, "").status_code == 422


def test_an_unsigned_document_has_no_certificate(client: Client, world: World) -> None:
    document = issued(world)
    url = reverse("verify-certificate")
    assert client.get(url, {"digest": document.digest}).status_code == 404
    assert client.get(url, {"digest": "sha256:" + "0" * 64}).status_code == 404
    assert client.get(url).status_code == 404
