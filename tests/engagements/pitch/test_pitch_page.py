"""The pitch check: for everybody, the same answer from its link, and nothing kept."""

from __future__ import annotations

import html
import re
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from engagements.common import rate_limits
from engagements.common.rate_limits import Rate
from engagements.pitch import views as pitch
from tests.engagements.evidence.traces import CAPTURES
from tests.engagements.pitch.pitch_requests import NUMBERS, URL, asked, outcomes, sent, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_rate_limits")]


def test_anybody_may_open_it_and_the_sign_in_page_leads_there(client: Client) -> None:
    response = client.get(URL)
    assert response.status_code == 200
    assert "X-Robots-Tag" not in response.headers
    assert f'href="{URL}"' in client.get(reverse("account_login")).content.decode()


def test_numbers_get_six_checks_the_ceiling_the_payback_and_questions(client: Client) -> None:
    page = asked(client)
    said = text(page)
    assert len(outcomes(page)) == 6
    # 1 / (1 - 0.4), and 1 / (0.6 + 0.4 / 3).
    assert "1.67×" in said
    assert "1.36×" in said
    assert "impossible" in said
    assert 'class="chart"' in page
    # EUR 40,000 less 40,000 / 1.3636 are saved a month: 60,000 come back in 24 weeks.
    assert "EUR 10,667" in said
    assert "24 weeks" in said


def test_the_answer_is_for_no_cache_and_no_search_engine(client: Client) -> None:
    response = client.get(URL, NUMBERS)
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    policy = response["Content-Security-Policy"]
    assert "script-src 'self'; style-src 'self';" in policy
    assert "unsafe" not in policy


def test_what_is_sent_becomes_a_link_that_gives_the_same_answer(client: Client) -> None:
    response = client.post(URL, NUMBERS)
    assert response.status_code == 303
    link = response["Location"]
    assert dict(parse_qsl(urlsplit(link).query)) == NUMBERS
    first = client.get(link).content.decode()
    again = Client().get(link).content.decode()
    assert text(first) == text(again) == text(asked(client))


@pytest.mark.parametrize(
    ("share", "outcome"), [("4.99", "Fail"), ("5", "Pass"), ("0", "Fail"), ("100", "Pass")]
)
def test_five_percent_of_the_time_is_hot(client: Client, share: str, outcome: str) -> None:
    assert outcomes(asked(client, share=share))[0] == outcome


@pytest.mark.parametrize(
    ("share", "speedup", "outcome"),
    [
        # Twice as fast takes an infinitely fast kernel: no number is enough.
        ("50", "1000", "Fail"),
        ("75", "3", "Pass"),
        ("75", "2.99", "Fail"),
        ("100", "2", "Pass"),
        ("100", "1", "Fail"),
    ],
)
def test_twice_as_fast_end_to_end_is_worth_it(
    client: Client, share: str, speedup: str, outcome: str
) -> None:
    assert outcomes(asked(client, share=share, speedup=speedup))[5] == outcome


def test_a_single_number_is_enough_for_an_answer(client: Client) -> None:
    page = client.get(URL, {"share": "3"}).content.decode()
    assert outcomes(page)[0] == "Fail"
    assert outcomes(page)[1:] == ["Unknown"] * 4 + ["Fail"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"share": "101"}, "share"),
        ({"share": "-1"}, "share"),
        ({"share": "NaN"}, "share"),
        ({"share": "1e400"}, "share"),
        ({"speedup": "0.9"}, "speedup"),
        ({"currency": "EURO"}, "currency"),
        ({"currency": "XYZ"}, "currency"),
        ({"currency": ""}, "currency"),
        ({"fee": "1.234"}, "fee"),
        ({"weeks": ""}, "weeks"),
        ({"life": "1e9"}, "life"),
        ({"gpu": "sm90"}, "definition"),
        ({"definition": "nonsense"}, "definition"),
        ({"libraries": ": nothing"}, "libraries"),
        ({"libraries": "a\n" * 30}, "libraries"),
        ({"shapes": "8x4096"}, "shapes"),
        ({"shapes": "8x4096 0"}, "shapes"),
        ({"shapes": "a 1\n" * 120}, "shapes"),
        ({"read": "nonsense"}, "__all__"),
    ],
)
def test_an_error_is_shown_at_its_field(client: Client, wrong: dict[str, str], field: str) -> None:
    response = client.get(URL, NUMBERS | wrong)
    assert response.status_code == 422
    assert set(response.context["form"].errors) == {field}
    assert outcomes(response.content.decode()) == []


def test_a_link_that_says_nothing_is_the_bare_form(client: Client) -> None:
    for query in ({"utm_source": "mail"}, {"share": ""}):
        response = client.get(URL, query)
        assert response.status_code == 200
        assert outcomes(response.content.decode()) == []
    refused = client.post(URL, {"share": " "})
    assert refused.status_code == 422


# The three bad cases of the source, as somebody would have pitched them.
BAD = {
    "a niche attention that ends 8% faster": (
        {"share": "30", "speedup": "1.33", "weeks": "6", "libraries": "FlashAttention-4: skips"},
        "worth",
    ),
    "a kernel for a model that goes in 8 weeks": (
        {"share": "60", "speedup": "2.2", "weeks": "6", "life": "14"},
        "survives",
    ),
    "a faster FlashAttention": (
        {"share": "40", "definition": "flash_attention", "libraries": "FlashAttention-4"},
        "off_the_shelf",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_pitch_fails_for_its_own_reason(client: Client, bad: str) -> None:
    numbers, reason = BAD[bad]
    page = client.get(URL, numbers).content.decode()
    found = dict(re.findall(r'id="check-(\w+)".*?class="badge[^"]*">(\w+)<', page, re.DOTALL))
    assert found[reason] == "Fail"


def test_what_was_typed_never_becomes_markup(client: Client) -> None:
    evil = '"><script>alert(1)</script>'
    page = asked(client, maintainer=evil, libraries=evil, shapes=f"{evil} 10")
    assert "<script>alert" not in page


def counted() -> dict[str, int]:
    """Rows of every table."""
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def test_a_pitch_is_stored_only_when_mailed(client: Client, settings: Any) -> None:
    settings.CONSULTANCY = settings.CONSULTANCY | {"email": ""}
    assert "mailto:" not in asked(client)
    settings.CONSULTANCY = settings.CONSULTANCY | {"email": "hello@example.org"}
    page = asked(client)
    mailed = html.unescape(page.partition('href="mailto:')[2].partition('"')[0])
    address, _, query = mailed.partition("?")
    assert address == "hello@example.org"
    assert dict(parse_qsl(query))["body"].endswith(urlencode(NUMBERS))


@pytest.mark.parametrize("as_file", [False, True], ids=["in memory", "on disk"])
@pytest.mark.parametrize("name", ["prefill.trace.json.gz", "noise"])
def test_nothing_is_kept(
    client: Client,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    as_file: bool,
    name: str,
) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 0 if as_file else 2**24
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    records = Path(settings.RECORDS_FOLDER)
    before, kept = counted(), sorted(records.rglob("*"))
    content = b"\0" * 3000 if name == "noise" else (CAPTURES / name).read_bytes()
    response = sent(client, content, **NUMBERS)
    if name == "noise":
        assert response.status_code == 422
    else:
        assert client.get(response["Location"]).status_code == 200
    assert counted() == before
    assert sorted(records.rglob("*")) == kept
    assert list(tmp_path.iterdir()) == []
    assert "sessionid" not in client.cookies


def test_asking_too_often_has_to_wait(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pitch, "CHECKS", Rate("pitch", most=2, window_s=3600))
    monkeypatch.setattr(rate_limits.time, "time", lambda: 3600 * 100 + 600.0)
    for _ in range(2):
        assert client.get(URL, {"share": "10"}).status_code == 200
    refused = client.get(URL, {"share": "10"})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) == 3001
    # Another address has its own limit, and the bare form has none.
    assert client.get(URL, {"share": "10"}, REMOTE_ADDR="192.0.2.7").status_code == 200
    assert client.get(URL).status_code == 200
    monkeypatch.setattr(rate_limits.time, "time", lambda: 3600 * 101 + 1.0)
    assert client.get(URL, {"share": "10"}).status_code == 200


def test_more_than_a_link_holds_is_refused(client: Client) -> None:
    shapes = "\n".join(f"{'x' * 70}{number} 5" for number in range(15))
    libraries = "\n".join(f"{'ü' * 50}{number}: nothing" for number in range(15))
    response = client.post(URL, NUMBERS | {"shapes": shapes, "libraries": libraries})
    assert response.status_code == 422
    assert set(response.context["form"].errors) == {"__all__"}


def test_no_other_method_is_answered(client: Client) -> None:
    assert client.delete(URL).status_code == 405
    assert client.head(URL).status_code == 200


def test_a_form_from_another_site_is_refused() -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(URL, {"share": "10"}).status_code == 403
