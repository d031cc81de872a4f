"""A library that the audit found to fit is the contract's baseline, or is excluded by name."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.audit import services as audits
from engagements.audit import subjects
from engagements.audit.models import Audit
from engagements.audit.rules import Tried
from engagements.contracts import offers
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.terms import terms_of
from engagements.engagement.models import Engagement
from tests.database_constraints import violates, write
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, fresh
from tests.errors import declined

pytestmark = pytest.mark.django_db
EXCLUSION: dict[str, Any] = {
    "excluded_library": "FlashInfer 0.7",
    "exclusion_reason": "It needs another cache.",
}


def audited(world: World, library: str = "FlashInfer") -> Engagement:
    """An audit whose second check found this library to fit."""
    audit = world.auditing()
    subjects.record_tried(audit=audit, tried=Tried(library=library, lacks=()), by=world.consultant)
    audit = Audit.objects.get(pk=audit.pk)
    if audit.findings.get(check_name="off_the_shelf").outcome == "fail":
        world.override(audit, "off_the_shelf", "pass")
    audit.findings.exclude(check_name="off_the_shelf").update(
        outcome="pass", value="As wanted", rationale="Seen.", found_at=timezone.now()
    )
    audits.deliver(audit=audit, by=world.consultant)
    return fresh(audit.engagement)


def excluded(world: World) -> ContractVersion:
    return world.offered(audited(world), **EXCLUSION)


def test_a_fitting_library_is_the_baseline_or_is_excluded(world: World) -> None:
    draft = world.drafted(audited(world))
    with declined("contract.other_baseline"):
        offers.offer(contract=draft, by=world.consultant)
    write(draft, excluded_library="Liger", exclusion_reason="Another one.")
    with declined("contract.other_baseline"):
        offers.offer(contract=draft, by=world.consultant)
    write(draft, **EXCLUSION)
    sealed = offers.offer(contract=draft, by=world.consultant)
    exclusion = {"library": "FlashInfer 0.7", "reason": "It needs another cache."}
    assert terms_of(sealed)["baseline_exclusion"] == exclusion
    text = str(terms_of(sealed)["text"]["clauses"])
    assert "FlashInfer 0.7" in text
    assert exclusion["reason"] in text
    # The benchmark's baseline is torch's own attention.
    assert world.offered(audited(world, "torch")).excluded_library == ""


def test_only_what_the_audit_found_is_excluded(world: World) -> None:
    with declined("contract.nothing_to_exclude"):
        world.offered(**EXCLUSION)
    draft = world.drafted()
    with violates("contract_exclusion_names_library_and_reason"):
        write(draft, excluded_library="FlashInfer")


def test_the_customer_accepts_the_exclusion_separately(world: World) -> None:
    contract = excluded(world)
    with declined("acceptance.exclusion"):
        world.accept(contract, Party.CUSTOMER)
    world.accept(contract, Party.CONSULTANCY)
    world.accept(contract, Party.CUSTOMER, accepts_exclusion=True)
    signed = contract.acceptances.get(party=Party.CUSTOMER)
    assert EXCLUSION["excluded_library"] in signed.exclusion_consent
    other = excluded(world)
    signed.pk, signed.contract_version, signed.digest = None, other, other.digest
    signed.exclusion_consent, signed._state.adding = "", True
    with violates("acceptance.exclusion"):
        signed.save()


def test_the_portal_has_a_box_of_its_own(client: Client, world: World) -> None:
    contract = excluded(world)
    sign_in(client, world.signatory)
    reference = contract.engagement.reference
    page = client.get(reverse("portal-contract", args=[reference])).content.decode()
    assert 'name="accepts_exclusion"' in page
    url = reverse("portal-contract-accept", args=[reference, contract.number])
    data: dict[str, Any] = {
        "typed_name": world.signatory.name,
        "agreed": "on",
        "digest": contract.digest,
    }
    assert client.post(url, data).status_code == 422
    assert client.post(url, {**data, "accepts_exclusion": "on"}).status_code == 302
    assert contract.acceptances.filter(party=Party.CUSTOMER).exists()
