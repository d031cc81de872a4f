"""The health check answers for load balancers and people."""

from collections.abc import Callable

import pytest
from django.conf import LazySettings
from django.test import Client

from tests.conftest import Worker


@pytest.mark.django_db
def test_a_site_whose_broker_and_database_answer_is_healthy(
    client: Client, broker_url: str
) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "database": "ok", "broker": "ok"}


@pytest.mark.django_db
def test_a_site_without_its_broker_is_not(client: Client, settings: LazySettings) -> None:
    settings.CELERY_BROKER_URL = "redis://:hunter2@127.0.0.1:1/0"
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "down", "database": "ok", "broker": "down"}
    assert b"hunter2" not in answer.content


@pytest.mark.django_db(transaction=True)
def test_the_workers_of_each_queue_are_counted_on_request(
    client: Client, celery_worker_process: Callable[..., Worker]
) -> None:
    celery_worker_process(queues="gpu")
    assert client.get("/healthz?workers").json()["workers"] == {"gpu": 1, "documents": 0}
