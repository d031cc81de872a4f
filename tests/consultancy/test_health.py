"""The health check answers for load balancers."""

import pytest
from django.test import Client


@pytest.mark.django_db
def test_a_site_whose_broker_and_database_answer_is_healthy(
    client: Client, broker_url: str
) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "database": "ok", "broker": "ok"}


def test_a_worker_starts_on_the_test_database(celery_worker_process) -> None:
    worker = celery_worker_process()
    assert worker.process.poll() is None
