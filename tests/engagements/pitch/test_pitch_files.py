"""The pitch check of a file: read in a moment, refused in a line, and in the link for anybody."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.test import Client

from engagements.common import rate_limits
from engagements.common.rate_limits import Rate
from engagements.pitch import files, links
from engagements.pitch import views as pitch
from tests.engagements.evidence.traces import CAPTURES, host, kernel, trace
from tests.engagements.pitch.pitch_requests import URL, outcomes, sent, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_rate_limits")]


def test_the_share_is_computed_from_a_profile(client: Client) -> None:
    content = (CAPTURES / "h200_llama_decode_32k_prefix.trace.json.gz").read_bytes()
    response = sent(client, content, "decode.json.gz", speedup="3")
    assert response.status_code == 303
    page = client.get(response["Location"]).content.decode()
    assert "decode.json.gz" in page
    assert "attention, " in page
    assert outcomes(page)[0] != "Unknown"
    # 14.4% of the time the GPU waits: 1 / (1 - 0.144).
    assert "Better batching 1.00× to 1.17×" in text(page)


def test_the_link_of_a_profile_gives_the_same_answer_to_anybody(client: Client) -> None:
    content = (CAPTURES / "moe.trace.json.gz").read_bytes()
    link = sent(client, content)["Location"]
    assert len(link) <= links.LONGEST
    first, again = (text(each.get(link).content.decode()) for each in (client, Client()))
    assert first == again
    assert f"t.json , {hashlib.sha256(content).hexdigest()[:6]}" in first


def test_files_of_different_kinds_come_together(client: Client) -> None:
    link = sent(client, (CAPTURES / "prefill.trace.json.gz").read_bytes(), "p.json.gz")["Location"]
    before = dict(parse_qsl(urlsplit(link).query))
    response = sent(client, (CAPTURES / "ladder_raw.ncu.csv").read_bytes(), "l.csv", **before)
    link = response["Location"]
    assert len(link) <= links.LONGEST
    page = client.get(link).content.decode()
    assert "p.json.gz" in page
    assert "l.csv" in page


def test_another_operator_of_the_profile_can_be_checked(client: Client) -> None:
    events = [host("step", 0, 1000), kernel("flash_fwd", 0, 600), kernel("gemm", 700, 20)]
    link = sent(client, trace(*events))["Location"]
    assert outcomes(client.get(link).content.decode())[0] == "Pass"
    page = client.get(f"{link}&operator=family:matrix+product").content.decode()
    assert outcomes(page)[0] == "Fail"
    assert '<option value="family:matrix product" selected>' in page


def test_a_link_that_was_altered_is_refused(client: Client) -> None:
    link = sent(client, trace(host("step", 0, 100), kernel("flash_fwd", 0, 60)))["Location"]
    query = dict(parse_qsl(urlsplit(link).query))
    middle = len(query["read"]) // 2
    other = "A" if query["read"][middle] != "A" else "B"
    query["read"] = query["read"][:middle] + other + query["read"][middle + 1 :]
    response = client.get(f"{URL}?{urlencode(query)}")
    assert response.status_code == 422
    assert response.context["form"].has_error("__all__", "pitch.link_damaged")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (b"PK\x03\x04rest", "evidence.wrong_format"),
        (b'{"traceEvents": [{"ph": "X"', "evidence.trace_truncated"),
        (gzip.compress(b"\x89PNG\r\n\x1a\n" + b"x" * 50, mtime=0), "evidence.unknown_format"),
    ],
)
def test_an_unreadable_file_is_declined_with_its_code(
    client: Client, content: bytes, code: str
) -> None:
    response = sent(client, content, share="40")
    assert response.status_code == 422
    assert response.context["files"].has_error("file", code)
    assert 'value="40"' in response.content.decode()


def test_a_file_that_is_too_large_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_BYTES", 1000)
    response = sent(client, b"x" * 1001)
    assert response.status_code == 422
    assert response.context["files"].has_error("file", "evidence.file_too_large")


def test_a_file_that_takes_too_long_is_given_up(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_S", 0.05)
    response = sent(client, trace(host("step", 0, 100)))
    assert response.status_code == 422
    assert response.context["files"].has_error("file", "evidence.time_limit")


def test_files_are_counted_by_themselves(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pitch, "FILES", Rate("pitch-file", most=1, window_s=3600))
    content = trace(host("step", 0, 100))
    assert sent(client, content).status_code == 303
    assert sent(client, content).status_code == 429
    assert client.post(URL, {"share": "10"}).status_code == 303


def test_only_so_many_files_are_read_at_once(client: Client) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(files.AT_ONCE):
            held.enter_context(rate_limits.slot("pitch-file", most=files.AT_ONCE, at_most_s=60))
        response = sent(client, trace(host("step", 0, 100)))
        assert response.status_code == 503
    assert sent(client, trace(host("step", 0, 100))).status_code == 303


def test_every_capture_can_be_checked(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pitch, "FILES", Rate("pitch-file", most=100, window_s=3600))
    for name in ("idle_gpu.trace.json.gz", "host_only.trace.json.gz", "h200_ncu_details.csv"):
        response = sent(client, (CAPTURES / name).read_bytes(), name)
        assert response.status_code == 303, name
        page = client.get(response["Location"]).content.decode()
        assert len(outcomes(page)) == 6, name
        assert name in page
