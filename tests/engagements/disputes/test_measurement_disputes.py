"""A disputed acceptance run is repeated: the signed repeat confirms or replaces its verdict."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.records import records, signatures
from benchmarks.services import keys
from engagements.disputes import repeats, services
from engagements.disputes.models import MeasurementDispute
from engagements.engagement.models import Stage
from engagements.notifications.models import Mail
from engagements.runs import bundles
from engagements.runs.attempts import outcome_of_run
from engagements.runs.models import EngagementRun
from engagements.runs.outcomes import Money
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements import story as told
from tests.engagements.charts.measured import record
from tests.engagements.signing_in import as_just_signed_in
from tests.engagements.story import Story
from tests.errors import declined
from tests.refusing import refused, write
from tests.signing import signed

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    """The first of three attempts missed, at about 1.1 times."""
    story = told.active(told.offered(told.audited(told.opened()), attempts=3))
    told.measured(story, 1.1)
    return story


def run_of(story: Story) -> EngagementRun:
    return EngagementRun.objects.get(engagement=story.engagement)


def raised(story: Story, **changed: Any) -> MeasurementDispute:
    given: dict[str, Any] = {
        "reason": "The machine was busy.",
        "repeater": "customer",
        "by": story.signatory,
    }
    return services.raise_dispute(run=run_of(story), **given | changed)


def repeat(story: Story, speedup: float, **changed: Any) -> dict[str, Any]:
    run = run_of(story).run
    given = {"document": run.benchmark.document, "source": run.solution.source}
    return record(speedup=speedup, **given | changed)


def test_an_overlapping_repeat_confirms_the_verdict(story: Story) -> None:
    dispute = raised(story)
    content = signed(repeat(story, 1.1, noise=0.03))
    ended = repeats.upload(dispute=dispute, content=content, cost=Decimal(900), by=story.signatory)
    assert (ended.state, ended.new_verdict) == ("confirmed", "")
    assert (ended.cost, ended.cost_bearer) == (900, "customer")
    event = story.engagement.events.get(verb="measurement_dispute.confirmed")
    assert (event.changes["cost"], event.changes["cost_bearer"]) == ("900.00", "customer")
    story.engagement.refresh_from_db()
    assert story.engagement.stage == Stage.ACTIVE
    with declined("dispute.ended"):
        repeats.upload(dispute=dispute, content=content, by=story.signatory)
    with declined("dispute.already_raised"):
        raised(story)


def test_another_verdict_replaces_it_and_meets_the_target(story: Story, tmp_path: Path) -> None:
    dispute = raised(story, repeater="expert", expert="Prof. Gauge", by=story.consultant)
    key = signatures.make_key(tmp_path / "expert")
    content = records.serialize(repeat(story, 2.6), key)
    with declined("dispute.unknown_key"):
        repeats.upload(dispute=dispute, content=content, by=story.consultant)
    keys.add(public_key=key.public.pem(), name="Prof. Gauge", by="operator")
    ended = repeats.upload(dispute=dispute, content=content, by=story.signatory)
    assert (ended.state, ended.new_verdict, ended.cost_bearer) == ("replaced", "met", "customer")
    story.engagement.refresh_from_db()
    assert story.engagement.stage == Stage.MET
    assert run_of(story).final_at is not None
    assert story.contract.milestones.filter(condition="target_met", state="released").exists()


def test_only_a_repeat_of_the_same_measurement_counts(story: Story) -> None:
    dispute = raised(story)
    usual = repeat(story, 1.1, noise=0.03)
    disputed = bundles.record_bytes(run=run_of(story), with_source=True)
    tried = {
        "dispute.unsigned": records.serialize(usual, None),
        "dispute.same_record": disputed,
        "repetition.other_run": signed(repeat(story, 1.1, source="def run(): ...\n")),
        "record.invalid": b"{}",
    }
    for code, content in tried.items():
        with declined(code):
            repeats.upload(dispute=dispute, content=content, by=story.signatory)
    with declined("dispute.other_party"):
        repeats.upload(dispute=dispute, content=signed(usual), by=story.consultant)


def test_the_settlement_waits() -> None:
    late = told.missed()
    settlement = Settlement.objects.get(contract_version__engagement=late.engagement)
    dispute = raised(late)
    assert outcome_of_run(run_of(late)).money == Money.ON_HOLD
    settlement.refresh_from_db()
    assert settlement.is_on_hold
    with declined("settlement.on_hold"):
        settlements.approve(settlement=settlement, by=late.finance)
    with refused("settlement.on_hold"):
        write(settlement, state="approved")
    # The repeat met the target of a contract that counts as missed: still nothing is paid.
    ended = repeats.upload(dispute=dispute, content=signed(repeat(late, 2.6)), by=late.signatory)
    assert ended.new_verdict == "met"
    with declined("settlement.on_hold"):
        settlements.approve(settlement=settlement, by=late.finance)


def test_the_party_that_asked_withdraws(story: Story) -> None:
    dispute = raised(story)
    with declined("dispute.other_party"):
        services.withdraw(dispute=dispute, by=story.consultant)
    with declined("access.signatories_only"):
        services.withdraw(dispute=dispute, by=story.viewer)
    assert services.withdraw(dispute=dispute, by=story.signatory).state == "withdrawn"
    assert raised(story, by=story.consultant).party == "consultancy"


def test_without_a_repeat_two_consultants_decide(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispute = raised(story)
    by, second = story.consultant, story.admin
    with declined("dispute.repeat_awaited"):
        services.decide(dispute=dispute, note="No repeat.", by=by)
    yesterday = timezone.localdate() - timedelta(days=1)
    monkeypatch.setattr(services, "repeat_awaited_until", lambda _: yesterday)
    services.decide(dispute=dispute, note="No repeat.", by=by)
    with declined("dispute.same_person"):
        services.decide(dispute=dispute, note="", by=by)
    with refused("measurement_dispute_decided_by_two"):
        write(dispute, state="confirmed", ended_by=by, ended_at=dispute.raised_at)
    assert services.decide(dispute=dispute, note="", by=second).state == "confirmed"


def test_a_dispute_has_its_period_and_only_its_run(story: Story) -> None:
    with declined("access.signatories_only"):
        raised(story, by=story.stranger)
    other = told.start_another(story, "Another")
    with refused("dispute.no_measurement"):
        MeasurementDispute.objects.create(
            engagement=other,
            run=run_of(story),
            party="customer",
            reason="Another’s",
            repeater="customer",
            raised_by=story.signatory,
        )


def test_the_page_raises_discusses_and_decides(client: Client, story: Story) -> None:
    run = run_of(story)
    url = reverse("portal-run-dispute", args=[story.reference, run.pk])
    as_just_signed_in(client, story.signatory)
    assert client.post(url, {"act": "raise", "repeater": "expert"}).status_code == 422
    data: dict[str, Any] = {"act": "raise", "reason": "Busy machine", "repeater": "customer"}
    assert client.post(url, data).status_code == 302
    assert Mail.objects.filter(recipient=story.consultant.email, body__contains="Busy").exists()
    upload = SimpleUploadedFile("log.txt", b"load average: 12")
    data = {"act": "message", "text": "See the log.", "attachment": upload}
    assert client.post(url, data).status_code == 302
    message = run.disputes.get().messages.get()
    file = reverse("run-dispute-file", args=[story.reference, run.pk, message.pk])
    assert client.get(file).getvalue() == b"load average: 12"
    again = SimpleUploadedFile("again.json", signed(repeat(story, 1.1, noise=0.03)))
    data = {"act": "repeat", "record": again, "cost": "900"}
    assert client.post(url, data).status_code == 302
    assert b"900" in client.get(url).content
    client.force_login(story.stranger)
    for page in (url, file):
        assert client.get(page).status_code == 404
    assert client.post(url, {"act": "withdraw"}).status_code == 404
    client.force_login(story.consultant)
    assert client.get(reverse("run-dispute", args=[story.reference, run.pk])).status_code == 200
