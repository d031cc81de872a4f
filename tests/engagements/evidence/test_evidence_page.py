"""The evidence's page: files sent, watched and read; answers for what no file tells."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from engagements.common import uploads
from engagements.common.row_fields import RowsField
from engagements.engagement.models import Engagement
from engagements.evidence import questionnaire, reading
from engagements.evidence import services as evidence
from engagements.evidence.models import Answer, Evidence
from tests.engagements import evidence_world
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
HOSTILE = "../../etc/<script>alert(1)</script>\u202e\r\nX-Evil: yes.json"


def url(name: str, engagement: Engagement, *more: str | int) -> str:
    return reverse(name, args=[engagement.reference, *more])


def sent(name: str, content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def text(client: Client, engagement: Engagement) -> str:
    page = client.get(url("engagement-evidence", engagement)).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition("<main")[2]).split())


def test_files_are_kept_at_once_and_read_by_a_worker_later(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    content = (evidence_world.CAPTURES / evidence_world.DECODE).read_bytes()
    files = [sent("decode.json.gz", content), sent("calls.csv", evidence_world.TRAFFIC)]
    response = signed_in.post(url("evidence-add", engagement), {"chosen": files})
    assert response.status_code == 302
    assert {row.state for row in Evidence.objects.all()} == {Evidence.State.QUEUED}

    for row in Evidence.objects.all():
        reading.read(evidence_id=row.pk)
    page = text(signed_in, engagement)
    assert "PyTorch profiler trace" in page
    assert "Shape traffic" in page
    assert "added by Connie" in page


def test_progress_is_polled_until_every_file_is_read(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    row = evidence_world.add(engagement, world.consultant, evidence_world.IDLE)
    claimed = reading.claim(evidence_id=row.pk)
    assert claimed is not None
    reading.report(claimed, 0.42)
    live = signed_in.get(url("evidence-live", engagement))
    assert live.status_code == 200
    assert 'aria-valuenow="42"' in live.content.decode()
    assert "hx-get" in live.content.decode()

    reading.give_up(claimed, reason="It ends in the middle of event 7.")
    done = signed_in.get(url("evidence-live", engagement))
    assert done.status_code == 286
    assert "hx-get" not in done.content.decode()
    assert "It ends in the middle of event 7." in done.content.decode()


def test_what_cannot_be_read_says_why_and_can_be_read_again(
    signed_in: Client, world: World
) -> None:
    engagement = world.scoping()
    half = (evidence_world.CAPTURES / evidence_world.IDLE).read_bytes()[:20_000]
    row = evidence_world.added(engagement, world.consultant, "half.json.gz", half)
    assert row.state == Evidence.State.UNREADABLE
    assert row.failure_reason in text(signed_in, engagement)
    signed_in.post(url("evidence-again", engagement, row.pk))
    row.refresh_from_db()
    assert row.state == Evidence.State.QUEUED


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "empty"), (None, "This field is required")],
)
def test_what_is_no_file_is_refused_in_the_form(
    signed_in: Client, world: World, content: bytes | None, said: str
) -> None:
    engagement = world.scoping()
    data = {} if content is None else {"chosen": sent("a.json", content)}
    response = signed_in.post(url("evidence-add", engagement), data)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert not Evidence.objects.exists()


def test_an_empty_file_keeps_no_other_from_being_kept(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    files = [sent("calls.csv", evidence_world.TRAFFIC), sent("nothing.json", b"")]
    assert signed_in.post(url("evidence-add", engagement), {"chosen": files}).status_code == 302
    assert [row.name for row in Evidence.objects.all()] == ["calls.csv"]
    assert "nothing.json" in text(signed_in, engagement)


def test_the_same_bytes_under_another_name_are_kept_once(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    for name in ("calls.csv", "again.csv"):
        answer = signed_in.post(
            url("evidence-add", engagement),
            {"chosen": sent(name, evidence_world.TRAFFIC)},
            follow=True,
        )
    assert [row.name for row in Evidence.objects.all()] == ["calls.csv"]
    assert "calls.csv was already added." in answer.content.decode()


def test_a_hostile_name_is_text_on_the_page_and_in_the_header(
    signed_in: Client, world: World
) -> None:
    engagement = world.scoping()
    row = evidence_world.added(engagement, world.consultant, HOSTILE, evidence_world.TRAFFIC)
    page = signed_in.get(url("engagement-evidence", engagement)).content.decode()
    assert "<script>alert" not in page
    assert "\u202e" not in row.name
    assert "/" not in row.name
    file = signed_in.get(url("evidence-file", engagement, row.pk))
    assert "X-Evil" not in file.headers
    assert file["Content-Disposition"].startswith("attachment")
    assert file["Content-Type"] == "application/octet-stream"
    assert b"".join(file) == evidence_world.TRAFFIC


def test_too_much_is_refused_before_a_byte_of_it_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    engagement = world.scoping()
    monkeypatch.setattr(uploads, "FORM_BYTES", 0)
    monkeypatch.setattr(uploads, "MOST_BYTES", 100)
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = token = "a" * 32
    for person, status in [(world.stranger, 400), (world.finance, 400), (world.consultant, 302)]:
        client.force_login(person)
        data = {"chosen": sent("calls.csv", evidence_world.TRAFFIC), "csrfmiddlewaretoken": token}
        assert client.post(url("evidence-add", engagement), data).status_code == status
    monkeypatch.setattr(uploads, "FORM_BYTES", -evidence.LARGEST_FILE_BYTES)
    data = {
        "chosen": sent("more.csv", evidence_world.TRAFFIC + b"1,1,1,1"),
        "csrfmiddlewaretoken": token,
    }
    assert client.post(url("evidence-add", engagement), data).status_code == 400
    assert Evidence.objects.count() == 1


def test_an_answer_keeps_whose_word_it_is_and_its_day(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    data = {
        "maintainers-people-0-name": "Performance team",
        "maintainers-people-0-hours_a_month": "12",
        "maintainers-people-2-name": "Greta",
        "maintainers-people-2-hours_a_month": "4,5",
        "maintainers-answered_by": "Sigrid",
        "maintainers-answered_on": "2026-01-31",
        "maintainers-note": "By telephone.",
    }
    response = signed_in.post(url("evidence-answer", engagement, "maintainers"), data)
    assert response["Location"].endswith("#question-maintainers")
    answer = Answer.objects.get()
    assert answer.value["people"][1] == {"hours_a_month": 4.5, "name": "Greta"}
    page = text(signed_in, engagement)
    assert "Sigrid, 31 Jan 2026" in page
    assert "By telephone." in page


def test_a_model_to_come_names_the_axes_that_change_with_it(
    signed_in: Client, world: World
) -> None:
    engagement = world.scoping()
    data = {
        "roadmap-models-0-expected_on": "2027-03-31",
        "roadmap-models-0-name": "Llama 5",
        "roadmap-models-0-axes": "head_dim 256, heads=64",
        "roadmap-models-1-expected_on": "2028-01-01",
        "roadmap-models-1-name": "Llama 6",
        "roadmap-answered_by": "Sigrid",
        "roadmap-answered_on": "2026-01-31",
    }
    signed_in.post(url("evidence-answer", engagement, "roadmap"), data)
    first, second = Answer.objects.get().value["models"]
    assert (first["name"], first["axes"]) == ("Llama 5", {"head_dim": 256, "heads": 64})
    assert (second["name"], second["axes"]) == ("Llama 6", {})
    page = text(signed_in, engagement)
    assert "Llama 5, 31 Mar 2027, head_dim 256, heads 64" in page


@pytest.mark.parametrize(
    ("question", "typed", "code"),
    [
        ("maintainers", {"people-0-name": "Greta", "people-0-hours_a_month": "many"}, "row.number"),
        ("maintainers", {"people-0-hours_a_month": "12"}, "row.missing"),
        ("roadmap", {"models-0-name": "Llama 5", "models-0-expected_on": "soon"}, "row.date"),
        (
            "roadmap",
            {
                "models-0-name": "Llama 5",
                "models-0-expected_on": "2027-03-31",
                "models-0-axes": "head_dim wide",
            },
            "answer.axis",
        ),
        ("gpu_generations", {"generations-0-name": "B300 2027"}, "answer.date_in_name"),
        ("gpu_generations", {"generations-0-name": "\u200b"}, "row.missing"),
        ("tail_latency", {"percentile": "99"}, "answer.tail_incomplete"),
        ("gpu_bill", {"amount": "1", "currency": "XXQ"}, "currency"),
    ],
)
def test_an_answer_that_is_not_understood_is_declined_by_its_code(
    signed_in: Client, world: World, question: str, typed: dict[str, str], code: str
) -> None:
    engagement = world.scoping()
    data = {"answered_by": "Sigrid", "answered_on": "2026-01-31", **typed}
    response = signed_in.post(
        url("evidence-answer", engagement, question),
        {f"{question}-{name}": value for name, value in data.items()},
    )
    assert response.status_code == 422
    [row] = [row for row in response.context["questions"] if row.question == question]
    found = [
        error["code"] for errors in row.form.errors.get_json_data().values() for error in errors
    ]
    assert found == [code]
    assert not Answer.objects.exists()


def test_a_changed_answer_starts_from_the_present_one(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    values: dict[str, dict[str, Any]] = {
        "roadmap": {"models": [{"expected_on": "2027-03-31", "name": "Llama 5", "axes": {"h": 8}}]},
        "maintainers": {"people": [{"name": "Greta", "hours_a_month": 4.5}]},
        "gpu_generations": {"generations": [{"name": "H200", "planned_on": None}]},
        "tail_latency": {"percentile": 99.0, "target_ms": 50.0, "measured_ms": None},
        "gpu_bill": {"amount_a_month": "90000.00", "currency": "EUR"},
    }
    for question, value in values.items():
        questionnaire.record(
            engagement=engagement,
            question=question,
            value=value,
            answered_by="Sigrid",
            answered_on=dt.date(2026, 1, 31),
            by=world.consultant,
        )
    for row in signed_in.get(url("engagement-evidence", engagement)).context["questions"]:
        sent = {field.html_name: field.value() for field in row.form}
        data = {name: value for name, value in sent.items() if isinstance(value, str | float)}
        for field in row.form:
            if isinstance(field.field, RowsField):
                data |= {
                    f"{field.html_name}-{at}-{name}": value or ""
                    for at, cells in enumerate(field.value())
                    for name, value in cells.items()
                }
        data[f"{row.question}-answered_by"] = "Sigrid"
        data[f"{row.question}-answered_on"] = "2026-02-01"
        again = signed_in.post(url("evidence-answer", engagement, row.question), data)
        assert again.status_code == 302
        assert Answer.objects.filter(question=row.question)[0].value == values[row.question]


def test_a_page_of_many_files_asks_the_database_as_often_as_one_of_few(
    signed_in: Client, world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    engagement = world.scoping()
    for number in range(6):
        evidence_world.add(
            engagement, world.consultant, f"{number}.csv", b"m,count\n%d,1\n" % number
        )
    with django_assert_max_num_queries(9):
        signed_in.get(url("engagement-evidence", engagement))


def test_other_roles_only_read(client: Client, world: World) -> None:
    engagement = world.scoping()
    row = evidence_world.added(engagement, world.consultant, "calls.csv", evidence_world.TRAFFIC)
    reads = [
        url("engagement-evidence", engagement),
        url("evidence-live", engagement),
        url("evidence-file", engagement, row.pk),
    ]
    acts = [
        url("evidence-add", engagement),
        url("evidence-again", engagement, row.pk),
        url("evidence-answer", engagement, "roadmap"),
    ]
    for person, read, act in [
        (world.stranger, [404, 404, 404], 404),
        (world.signatory, [404, 404, 404], 404),
        (world.finance, [200, 286, 200], 403),
    ]:
        client.force_login(person)
        assert [client.get(one).status_code for one in reads] == read
        assert [client.post(one, {}).status_code for one in acts] == [act] * 3
    page = client.get(reads[0]).content.decode().partition("<main")[2]
    assert 'method="post"' not in page


def test_a_file_of_another_engagement_does_not_exist_here(signed_in: Client, world: World) -> None:
    row = evidence_world.add(world.scoping(), world.consultant, "calls.csv", evidence_world.TRAFFIC)
    other = world.scoping(customer=world.other_customer)
    assert signed_in.get(url("evidence-file", other, row.pk)).status_code == 404
    assert signed_in.post(url("evidence-again", other, row.pk)).status_code == 404
    assert signed_in.post(url("evidence-answer", other, "weather"), {}).status_code == 404
