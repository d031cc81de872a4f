"""Metrics, the checks behind them, and the ids in log lines."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.core.cache import cache
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from consultancy import logs
from consultancy.monitoring import checks
from engagements.documents.models import Document
from engagements.notifications.models import Mail
from tests.engagements import story
from tests.engagements.proofs.volume import without_triggers

TOKEN = "a-token-of-prometheus"
MONITORING = settings.BASE_DIR / "deploy" / "monitoring"


@pytest.fixture(autouse=True)
def _forgotten(settings: LazySettings) -> Iterator[None]:
    settings.TWOFOLD_METRICS_TOKEN = TOKEN
    # Nothing listens there.
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    cache.clear()
    yield
    cache.clear()


def values(client: Client) -> dict[tuple[str, ...], float]:
    page = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert page.status_code == 200
    families = text_string_to_metric_families(page.content.decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_only_the_bearer_of_the_token_reads_metrics(
    db: None, client: Client, settings: LazySettings
) -> None:
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "Bearer"}):
        assert client.get("/metrics", headers=headers).status_code == 404
    settings.TWOFOLD_METRICS_TOKEN = None
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_every_alert_and_panel_reads_a_metric_that_exists(db: None, client: Client) -> None:
    made = story.missed()
    checks.run_when_due()
    found = values(client)
    texts = (MONITORING / "alerts.yml").read_text(), (MONITORING / "dashboard.json").read_text()
    used = {name for text in texts for name in re.findall(r"\btwofold_\w+", text)}
    # Without a token, there is no next expiry.
    assert used - {key[0] for key in found} == {"twofold_api_token_next_expiry_seconds"}
    assert found["twofold_ledger_imbalance", made.contract.currency] == 0
    assert found["twofold_queue_length", "mail"] == Mail.objects.filter(sent_at=None).count() > 0
    assert found["twofold_part_up", "database"] == 1
    assert found["twofold_part_up", "broker"] == 0


def test_altered_data_is_found_once_a_day(db: None, client: Client) -> None:
    assert ("twofold_integrity_checked_seconds",) not in values(client)
    assert checks.run_when_due()
    assert not checks.run_when_due()
    assert values(client)["twofold_integrity_faults", "documents"] == 0
    cache.delete(checks.KEY)
    made = story.opened()
    with without_triggers():
        Document.objects.create(
            engagement=made.engagement,
            kind=Document.Kind.CONTRACT,
            subject="contract:1",
            content=b"altered",
            size_bytes=7,
            digest=f"sha256:{'0' * 64}",
        )
    assert checks.run_when_due()
    assert values(client)["twofold_integrity_faults", "documents"] == 1


def test_log_lines_carry_the_request_and_no_forged_one(
    db: None, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(logs.ContextFilter())
    logging.getLogger("twofold.access").setLevel(logging.INFO)
    given = "0123456789abcdef"
    page = client.get("/keys/none.pub", headers={logs.HEADER: given})
    assert page.headers[logs.HEADER] == given
    forged = client.get("/keys/none.pub", headers={logs.HEADER: 'x"\n{"level": "ERROR"}'})
    assert re.fullmatch(r"[0-9a-f]{32}", forged.headers[logs.HEADER])
    lines: list[Any] = [row for row in caplog.records if row.name == "twofold.access"]
    assert [row.request for row in lines] == [given, forged.headers[logs.HEADER]]
    assert (lines[0].method, lines[0].path, lines[0].status) == ("GET", "/keys/none.pub", 404)
    assert not logs.context()


def test_a_task_keeps_the_request_that_enqueued_it() -> None:
    class Task:
        name = "benchmarks.tasks.measure"
        request = type("Request", (), {"request_id": "abcdefgh"})

    logs.begin_task(task_id="t1", task=Task, args=(17,))
    assert logs.context() == {"task": "t1", "request": "abcdefgh", "run": "17"}
    headers: dict[str, Any] = {}
    logs.pass_request_on(headers=headers)
    assert headers == {"request_id": "abcdefgh"}
    logs.end_task()
    assert not logs.context()


def test_security_txt_names_the_configured_contact(
    db: None, client: Client, settings: LazySettings
) -> None:
    assert client.get("/.well-known/security.txt").status_code == 404
    settings.TWOFOLD_SECURITY_CONTACT = "mailto:security@twofold.example.org"
    page = client.get("/.well-known/security.txt")
    fields = dict(line.split(": ", 1) for line in page.content.decode().splitlines())
    assert fields["Contact"] == "mailto:security@twofold.example.org"
    assert fields["Expires"].endswith("Z")


def test_dashboard_is_valid_json() -> None:
    board = json.loads((MONITORING / "dashboard.json").read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
