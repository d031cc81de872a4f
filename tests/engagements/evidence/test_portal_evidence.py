"""The customer answers the audit's questions and adds evidence; withdrawn files leave a trace."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import place_of_records
from engagements.common.errors import ApplicationError
from engagements.evidence import questionnaire, services
from engagements.evidence.models import Answer, Evidence
from engagements.portal.queries import portal_engagement
from engagements.portal.status import YOU, next_step
from tests.engagements.world import World

TRACE = json.dumps({"traceEvents": []}).encode()


def added(world: World, by: str = "viewer", content: bytes = TRACE) -> Evidence:
    return services.add(
        engagement=world.scoping(),
        name="trace.json",
        content=io.BytesIO(content),
        by=getattr(world, by),
    )


@pytest.mark.parametrize("who", ["viewer", "signatory"])
def test_the_customer_answers_and_uploads_on_its_page(
    world: World, client: Client, who: str
) -> None:
    engagement, person = world.scoping(), getattr(world, who)
    client.force_login(person)
    page = reverse("portal-evidence", args=[engagement.reference])
    assert client.get(page).status_code == 200
    answer = reverse("portal-evidence-answer", args=[engagement.reference, "gpu_bill"])
    posted = {"gpu_bill-amount": "120000", "gpu_bill-currency": "eur", "gpu_bill-note": ""}
    assert client.post(answer, posted).headers["Location"].startswith(page)
    row = Answer.objects.get(engagement=engagement)
    assert (row.answered_by, row.answered_on) == (str(person), timezone.localdate())
    assert row.value["currency"] == "EUR"
    files = {"chosen": SimpleUploadedFile("trace.json", TRACE)}
    add = reverse("portal-evidence-add", args=[engagement.reference])
    assert client.post(add, files).status_code == 302
    assert Evidence.objects.get(engagement=engagement).added_by == person


def test_an_answer_that_is_not_understood_keeps_what_was_typed(
    world: World, client: Client
) -> None:
    engagement = world.scoping()
    client.force_login(world.viewer)
    answer = reverse("portal-evidence-answer", args=[engagement.reference, "gpu_bill"])
    page = client.post(answer, {"gpu_bill-amount": "a lot", "gpu_bill-currency": "EUR"})
    assert page.status_code == 422
    assert 'value="a lot"' in page.content.decode()
    assert not Answer.objects.exists()


def test_open_questions_are_the_customer_s_turn_until_all_are_answered(world: World) -> None:
    engagement = world.scoping()

    def who() -> str:
        page = portal_engagement(engagement, today=timezone.localdate())
        return next_step(page, can_sign=False).who_label

    values: dict[str, dict[str, Any]] = {
        "roadmap": {"models": []},
        "maintainers": {"people": []},
        "gpu_generations": {"generations": []},
        "tail_latency": {"percentile": None, "target_ms": None, "measured_ms": None},
        "gpu_bill": {"amount_a_month": "1000.00", "currency": "EUR"},
    }
    for question, value in values.items():
        assert who() == YOU
        questionnaire.record(
            engagement=engagement,
            question=question,
            value=value,
            answered_by="Vic",
            answered_on=timezone.localdate(),
            by=world.viewer,
        )
    assert who() != YOU


def test_a_withdrawn_file_leaves_a_tombstone_without_its_content(
    world: World, client: Client, django_capture_on_commit_callbacks: Any
) -> None:
    row = added(world)
    stored_as = row.file.name or ""
    with django_capture_on_commit_callbacks(execute=True):
        services.withdraw(evidence=row, reason="Names of models.", by=world.consultant)
        services.withdraw(evidence=row, reason="Again.", by=world.consultant)
    row.refresh_from_db()
    assert (row.state, row.summary, row.withdrawal_reason) == (
        "withdrawn",
        None,
        "Names of models.",
    )
    assert row.withdrawn_by == world.consultant
    assert not place_of_records().exists(stored_as)
    assert row.engagement.events.filter(verb="evidence.withdrawn").count() == 1
    client.force_login(world.consultant)
    page = client.get(reverse("engagement-evidence", args=[row.engagement.reference]))
    assert "Names of models." in page.content.decode()
    download = reverse("evidence-file", args=[row.engagement.reference, row.pk])
    assert client.get(download).status_code == 404


def test_the_customer_withdraws_its_own_files_alone(world: World, client: Client) -> None:
    own, theirs = added(world), added(world, by="consultant", content=TRACE + b" ")
    client.force_login(world.viewer)
    for row, state in ((own, "withdrawn"), (theirs, "queued")):
        url = reverse("portal-evidence-withdraw", args=[row.engagement.reference, row.pk])
        assert client.post(url).status_code == 302
        row.refresh_from_db()
        assert row.state == state


def test_a_file_may_be_added_again_after_its_withdrawal(world: World) -> None:
    row = added(world)
    services.withdraw(evidence=row, reason="Wrong one.", by=world.viewer)
    again = services.add(
        engagement=row.engagement, name="t.json", content=io.BytesIO(TRACE), by=world.viewer
    )
    assert again.pk != row.pk


@pytest.mark.parametrize("who", ["stranger", "finance", "nobody"])
def test_others_add_nothing(world: World, who: str) -> None:
    with pytest.raises(ApplicationError) as error:
        added(world, by=who)
    assert error.value.code == "access.contributors_only"
